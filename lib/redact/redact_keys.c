/* Finds keys by their shape. Prefixes and lengths are from the services' manuals and from the list of gitleaks (MIT). */
#include "lib/redact/redact_parts.h"

struct shape {
	const char *prefixes; /* separated by blanks */
	unsigned char chars;  /* classes of the characters after the prefix */
	unsigned char least;  /* characters after the prefix, at least */
	unsigned char most;   /* at most; 0: any number */
	const char *more;     /* characters that may follow beside those classes */
	bool digit;           /* a key has a digit: it tells the key from an ordinary word with this prefix */
};

#define CAPITALS (UPPER | DIGIT)
#define SMALL (LOWER | DIGIT)

static const struct shape shapes[] = {
	/* Clouds */
	{"AKIA ASIA ABIA ACCA", CAPITALS, 16, 16, "", false},                                /* AWS */
	{"ABSK eyJrIjoi", ALNUM, 70, 0, "+/=", false},                                       /* AWS Bedrock; Grafana */
	{"AIza GOCSPX- 1//0 ya29.", WORD, 20, 0, ".", false},                                /* Google */
	{"LTAI", ALNUM, 16, 24, "", true},                                                   /* Alibaba */
	{"dop_v1_ doo_v1_ dor_v1_ s-s4t2ud- s-s4t2af-", SMALL, 32, 0, "", false},            /* DigitalOcean; 42 */
	{"v1.0-", SMALL | DASH, 100, 0, "", false},                                          /* Cloudflare */
	{"fo1_ fm1r_ fm1a_ fm2_", WORD, 40, 0, "+/=,", false},                               /* Fly.io */
	{"nfp_ nfc_ nfo_ nfb_ nfu_", ALNUM, 30, 0, "", true},                                /* Netlify */
	{"pscale_tkn_ pscale_oauth_ pscale_pw_", WORD, 30, 0, "=.", false},                  /* PlanetScale */
	{"sbp_ sb_secret_", WORD, 20, 0, "", true},                                          /* Supabase */
	{"pul- dapi", SMALL, 32, 42, "-", true},                                             /* Pulumi, Databricks */
	{"hvb. hvs. hvr.", WORD, 20, 0, "", false},                                          /* Vault */
	{"dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", WORD, 30, 0, ".", false},         /* Doppler */
	{"sha256~ tk-us- AQVN", WORD, 35, 50, "", true},                                     /* OpenShift, Scalingo, Yandex */
	/* Models */
	{"sk-", WORD, 12, 0, "", true},                                                      /* OpenAI, Anthropic and others */
	{"gsk_ hf_ api_org_ npm_", ALNUM, 16, 0, "", true},                                  /* Groq, Hugging Face; npm */
	{"hf_ api_org_", LOWER | UPPER, 34, 34, "", false},                                  /* Hugging Face: of letters only */
	{"pplx- r8_ xai- csk- fw_ esecret_", ALNUM, 20, 0, "", true},                        /* Perplexity, Replicate, xAI and others */
	{"nvapi- jina_ tgp_v1_ tvly- lsv2_", WORD, 20, 0, "", true},                         /* NVIDIA, Jina and others */
	{"sk_", SMALL, 48, 48, "", true},                                                    /* ElevenLabs */
	{"pcsk_", WORD, 40, 0, "", true},                                                    /* Pinecone */
	/* Code and packages */
	{"ghp_ gho_ ghu_ ghr_ github_pat_", WORD, 12, 0, "", true},
	{"ghs_", WORD, 12, 0, ".", true},
	{"glpat- gldt- glptt- glrt- glcbt- glagent- gloas- glft- glsoat- glimt- glffct- GR1348941", WORD, 12, 0, ".", true}, /* GitLab */
	{"ATATT3 ATCTT3 ATBB BBDC-", WORD, 20, 0, "=+/", true},                              /* Atlassian */
	{"pypi-", WORD, 50, 0, "", true},
	{"rubygems_ oy2", SMALL, 40, 48, "", true},
	{"dckr_pat_ dckr_oat_ CLOJARS_ figd_ sgp_", WORD, 20, 0, "", true},
	{"AKCp cmVmd", ALNUM, 59, 73, "", true},                                             /* Artifactory */
	{"lin_api_ lin_oauth_ pnu_ rdme_ ico-", ALNUM, 30, 0, "", false},                    /* Linear, Prefect, ReadMe, Infracost */
	{"pat. sat.", WORD, 50, 0, ".", true},                                               /* Harness */
	{"ntn_ secret_", ALNUM, 40, 0, "", true},                                            /* Notion */
	{"PMAK- NRAK- NRII- NRJS- NRIQ-", WORD, 19, 0, "", true},                            /* Postman, New Relic */
	{"glc_ sntrys_ sntryu_", WORD, 30, 0, "=+/", false},                                 /* Grafana, Sentry */
	{"glsa_", WORD, 30, 0, "", false},
	{"dt0c01. dt0s01. dt0s16.", ALNUM, 60, 0, ".", false},                               /* Dynatrace */
	{"API-", CAPITALS, 26, 26, "", true},                                                /* Octopus */
	/* Messages and mail */
	{"xapp- xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs-", WORD, 10, 0, "%.", true}, /* Slack */
	{"hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", WORD, 6, 0, "/", false},
	{"discord.com/api/webhooks/ discordapp.com/api/webhooks/ webhook.office.com/webhookb2/ api.telegram.org/bot", WORD, 20, 0,
		"/@:", false},
	{"SG.", WORD, 16, 0, ".", true},                                                     /* SendGrid */
	{"xkeysib- xsmtpsib-", WORD, 40, 0, "", false},                                      /* Brevo */
	{"SK key-", SMALL, 32, 32, "", true},                                                /* Twilio, Mailgun */
	{"re_", WORD, 30, 40, "", true},                                                     /* Resend */
	/* Payments and shops */
	{"sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", ALNUM, 10, 0, "", true},   /* Stripe */
	{"whsec_", ALNUM, 20, 0, "=+/", false},
	{"shpat_ shpca_ shppa_ shpss_ shptka_ shippo_live_ shippo_test_", ALNUM, 32, 0, "", false},
	{"sq0atp- sq0csp-", WORD, 20, 0, "", true},                                          /* Square */
	{"EAAC EAAG EAAM", ALNUM, 100, 0, "", true},                                         /* Facebook */
	{"EZAK EZTK FLWSECK_TEST- FLWSECK-", WORD, 12, 58, "", true},                        /* EasyPost, Flutterwave */
	{"duffel_live_ duffel_test_ fio-u- dnkey- tfp_ CFPAT-", WORD, 40, 0, "=.", false},
	{"access-sandbox- access-development- access-production-", SMALL | DASH, 36, 36, "", true}, /* Plaid */
	/* Others */
	{"AGE-SECRET-KEY-1", CAPITALS, 58, 58, "", false},
	{"ops_eyJ", ALNUM, 30, 0, "+/=", false},                                             /* 1Password */
	{"A3-", CAPITALS | DASH, 30, 40, "", true},
	{"p8e- 4b1d", SMALL | UPPER, 32, 38, "", true},                                      /* Adobe, ClickHouse */
	{"sm_aat_ sm_pat_ sm_sat_", ALNUM, 16, 16, "", true},                                /* SettleMint */
	{"sl.", WORD, 100, 0, "", false},                                                    /* Dropbox */
	{"eyJ", WORD, 10, 0, ".", false},                                                    /* JWT (is_jwt) */
};

enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };
_Static_assert(SHAPES <= 64, "a word has a bit for each shape");

void
redact_index_shapes(struct redact *r)
{
	for (size_t k = 0; k < SHAPES; k++)
		for (const char *p = shapes[k].prefixes; p; p = strchr(p, ' ') ? strchr(p, ' ') + 1 : NULL) {
			r->first[p[0] & 127] |= UINT64_C(1) << k;
			r->second[p[1] & 127] |= UINT64_C(1) << k;
		}
}

/* Does a second part, after a '.', follow the word at i? Other base64 also begins with eyJ, but has one part. */
static bool
is_jwt(struct search *t, size_t i)
{
	size_t end = redact_word_end(t, i);

	return search_at(t, end) == '.' && class_of(search_at(t, end + 1)) && class_of(search_at(t, end + 2)) &&
		class_of(search_at(t, end + 3));
}

/* Finds a key of shape s that begins at i and whose prefix ends at `from`. */
static int
find_key(struct search *t, size_t i, size_t from, const struct shape *s)
{
	size_t end = from;

	/* No further than LONGEST: the same characters may be read for many prefixes. */
	while (end - from < LONGEST && is_of(t, end, s->chars, s->more))
		end++;
	if (end - from < s->least || (s->digit && !redact_has_digit(slice(t->text.p + from, end - from))))
		return 0;
	if ((s->most && (end - from > s->most || class_of(search_at(t, end)) & ALNUM)) || (s->prefixes[0] == 'e' && !is_jwt(t, from)))
		return 0;
	end = skip_chars(t, end, s->chars, s->more);
	while (t->text.p[end - 1] == '.')
		end--;
	return redact_text_hit(t, i, end, REDACT_KEY);
}

/* How many characters of the classes follow from i on, LONGEST at most. */
static size_t
count_chars(const struct search *t, size_t i, unsigned chars)
{
	size_t n = 0;

	while (n < LONGEST && class_of(search_at(t, i + n)) & chars)
		n++;
	return n;
}

/* Finds keys that have no prefix, but a known middle or layout. The word begins at i. */
static int
find_by_middle(struct search *t, size_t i)
{
	size_t end = redact_word_end(t, i), n = end - i, middle, last;
	const char *p = t->text.p + i;

	if (n > 40 || n < 8)
		return 0;
	middle = count_chars(t, end + 1, WORD);
	if (search_at(t, end) == ':') /* Telegram: the number of a bot and its token */
		return n <= 16 && count_chars(t, i, DIGIT) == n && search_at(t, end + 1) == 'A' && middle >= 34
			? redact_text_hit(t, i, end + 1 + middle, REDACT_KEY) : 0;
	/* Mailchimp and MaxMind */
	if ((n > 35 && n < 39 && memcmp(p + 32, "-us", 3) == 0) || (n == 40 && memcmp(p + 36, "_mmk", 4) == 0))
		return redact_text_hit(t, i, end, REDACT_KEY);
	if (search_at(t, end) != '.')
		return 0;
	if (n == 17 && memcmp(p, "pat", 3) == 0 && middle == 64) /* Airtable */
		return redact_text_hit(t, i, end + 1 + middle, REDACT_KEY);
	if (search_at(t, end + 1 + middle) != '.')
		return 0;
	last = count_chars(t, end + middle + 2, WORD);
	/* Terraform, and the bots of Discord */
	if ((n == 14 && middle == 7 && memcmp(p + n + 1, "atlasv1", 7) == 0 && last >= 40) ||
		(strchr("MNO", *p) && n >= 23 && n <= 28 && middle >= 5 && middle <= 7 && last >= 27))
		return redact_text_hit(t, i, redact_word_end(t, end + middle + 2), REDACT_KEY);
	return 0;
}

int
redact_find_keys(struct search *t, size_t i)
{
	uint64_t candidates = t->redact->first[t->text.p[i] & 127] & t->redact->second[search_at(t, i + 1) & 127];
	const struct shape *s = shapes;
	size_t n;

	for (; candidates && t->done <= i; candidates >>= 1, s++) {
		if (!(candidates & 1))
			continue;
		for (const char *p = s->prefixes; *p && t->done <= i; p += n + (p[n] == ' ')) {
			n = strcspn(p, " ");
			if (t->text.n - i > n && memcmp(t->text.p + i, p, n) == 0 && find_key(t, i, i + n, s) < 0)
				return -1;
		}
	}
	return t->done > i ? 0 : find_by_middle(t, i);
}

/* The key is three characters, a digit, "Q~" and at least 30 more. */
int
redact_find_tilde(struct search *t, size_t i)
{
	size_t end;

	if (i < t->done + 5 || t->text.p[i - 1] != 'Q' || class_of(t->text.p[i - 2]) != DIGIT)
		return 0;
	for (size_t k = i - 5; k < i - 2; k++)
		if (!is_of(t, k, WORD, "~."))
			return 0;
	end = skip_chars(t, i + 1, WORD, "~.");
	return end - i > 30 ? redact_text_hit(t, i - 5, end, REDACT_KEY) : 0;
}

int
redact_find_pem(struct search *t, size_t i)
{
	static const char begin[] = "-----BEGIN ", key[] = "PRIVATE KEY", end[] = "-----END ";
	size_t from = i + sizeof(begin) - 1, label;
	const char *p;

	if (t->text.n < from || memcmp(t->text.p + i, begin, sizeof(begin) - 1) != 0)
		return 0;
	for (label = from; label - from < NEAR && (class_of(search_at(t, label)) & CAPITALS || search_at(t, label) == ' '); label++)
		;
	if (!memmem(t->text.p + from, label - from, key, sizeof(key) - 1))
		return 0;
	p = memmem(t->text.p + label, t->text.n - label, end, sizeof(end) - 1);
	t->open |= !p;
	return redact_text_hit(t, from, p ? (size_t)(p - t->text.p) : t->text.n, REDACT_KEY);
}
