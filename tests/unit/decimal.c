/* decimal: spellings, sums, products and rounding of exact decimals. */
#include "lib/decimal.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct buf text;

static const char *
put(const struct decimal *d)
{
	text.n = 0;
	return decimal_put(d, &text) == 0 ? buf_string(&text) : NULL;
}

static const char *
parsed(const char *number)
{
	struct decimal d = {0};
	const char *s = decimal_parse(slice_of(number), &d) == 0 ? put(&d) : "none";

	decimal_free(&d);
	return s;
}

static const char *
calc(const char *a, char op, const char *b)
{
	struct decimal x = {0}, y = {0};
	const char *s;

	decimal_parse(slice_of(a), &x);
	decimal_parse(slice_of(b), &y);
	if (op == '+')
		decimal_add(&x, &y, &x);
	else if (op == '-')
		decimal_subtract(&x, &y, &y), decimal_copy(&y, &x);
	else
		decimal_multiply(&x, &y, &x);
	s = put(&x);
	decimal_free(&x);
	decimal_free(&y);
	return s;
}

static int
compared(const char *a, const char *b)
{
	struct decimal x = {0}, y = {0};
	int r;

	decimal_parse(slice_of(a), &x);
	decimal_parse(slice_of(b), &y);
	r = decimal_compare(&x, &y);
	decimal_free(&x);
	decimal_free(&y);
	return r < 0 ? -1 : r > 0;
}

static const char *
rounded(const char *number, unsigned places)
{
	struct decimal d = {0};

	decimal_parse(slice_of(number), &d);
	text.n = 0;
	decimal_put_rounded(&d, places, &text);
	decimal_free(&d);
	return buf_string(&text);
}

static const char *
money(const char *number, const char *currency)
{
	struct decimal d = {0};

	decimal_parse(slice_of(number), &d);
	text.n = 0;
	decimal_put_money(&d, slice_of(currency), &text);
	decimal_free(&d);
	return buf_string(&text);
}

static void
spellings(void)
{
	CHECK_STR(parsed("0"), "0");
	CHECK_STR(parsed("-0"), "0");
	CHECK_STR(parsed("0.000e5"), "0");
	CHECK_STR(parsed("1"), "1");
	CHECK_STR(parsed("10"), "10");
	CHECK_STR(parsed("100000000000"), "100000000000");
	CHECK_STR(parsed("1.50"), "1.5");
	CHECK_STR(parsed("0.11358000000000001"), "0.11358000000000001");
	CHECK_STR(parsed("5.3e4"), "53000");
	CHECK_STR(parsed("5.3E+4"), "53000");
	CHECK_STR(parsed("53e-4"), "0.0053");
	CHECK_STR(parsed("0.00053e1"), "0.0053");
	CHECK_STR(parsed("120.0e-1"), "12");
	CHECK_STR(parsed("-1.25"), "-1.25");
	CHECK_STR(parsed("1e-7"), "0.0000001");
	CHECK_STR(parsed("123456789012345678901234567890.123456789012345678901234567890"),
		"123456789012345678901234567890.12345678901234567890123456789");
	CHECK_STR(parsed("18446744073709551615"), "18446744073709551615");
	CHECK_STR(parsed(""), "none");
	CHECK_STR(parsed("-"), "none");
	CHECK_STR(parsed("1."), "none");
	CHECK_STR(parsed(".5"), "none");
	CHECK_STR(parsed("1e"), "none");
	CHECK_STR(parsed("1e+"), "none");
	CHECK_STR(parsed("NaN"), "none");
	CHECK_STR(parsed("\"1\""), "none");
	CHECK_STR(parsed("1 "), "none");
	CHECK_STR(parsed("1e999999999999999999999"), "none");
	CHECK_STR(parsed("1e-20000"), "none");
	CHECK_STR(parsed("0e999999999999"), "0");
}

static void
sums(void)
{
	CHECK_STR(calc("0.1", '+', "0.2"), "0.3");
	CHECK_STR(calc("0.1", '-', "0.3"), "-0.2");
	CHECK_STR(calc("0.3", '-', "0.3"), "0");
	CHECK_STR(calc("999999999.999999999", '+', "0.000000001"), "1000000000");
	CHECK_STR(calc("1000000000", '-', "0.000000001"), "999999999.999999999");
	CHECK_STR(calc("1e30", '+', "1e-30"), "1000000000000000000000000000000.000000000000000000000000000001");
	CHECK_STR(calc("-5", '+', "3"), "-2");
	CHECK_STR(calc("-5", '-', "-7"), "2");
	CHECK_STR(calc("0", '-', "7"), "-7");
	CHECK_STR(calc("0.000003", '*', "18446744073709551615"), "55340232221128.654845");
	CHECK_STR(calc("-1.5", '*', "0.02"), "-0.03");
	CHECK_STR(calc("0", '*', "7"), "0");
	CHECK_STR(calc("999999999999999999999", '*', "999999999999999999999"), "999999999999999999998000000000000000000001");
	CHECK(compared("0.3", "0.30") == 0);
	CHECK(compared("-1", "1") == -1);
	CHECK(compared("-2", "-1") == -1);
	CHECK(compared("1e10", "9999999999") == 1);
	CHECK(compared("0", "0.0000000001") == -1);
}

static void
people(void)
{
	CHECK_STR(rounded("0.11358000000000001", 4), "0.1136");
	CHECK_STR(rounded("0.99995", 4), "1.0000");
	CHECK_STR(rounded("-0.00004", 4), "0.0000");
	CHECK_STR(rounded("-0.005", 2), "-0.01");
	CHECK_STR(rounded("2.5", 0), "3");
	CHECK_STR(money("0.11358000000000001", "USD"), "0.1136 USD");
	CHECK_STR(money("12.345", "USD"), "12.35 USD");
	CHECK_STR(money("17.6", "JPY"), "18 JPY");
	CHECK_STR(money("0", "USD"), "0 USD");
	CHECK_STR(money("3.2", ""), "3.20");
}

/* A million times 0.1 is a hundred thousand; random sums come out as integers of 10^-6 do. */
static void
many(void)
{
	struct decimal tenth = {0}, all = {0}, one = {0};
	struct buf b = {0};
	int64_t units = 0, v;
	char want[64];
	int i;

	decimal_parse(slice_of("0.1"), &tenth);
	for (i = 0; i < 1000000; i++)
		decimal_add(&all, &tenth, &all);
	CHECK_STR(put(&all), "100000");
	decimal_free(&all);
	srand(4);
	for (i = 0; i < 10000; i++) {
		v = rand() % 2000000000 - 1000000000;
		units += v;
		b.n = 0;
		buf_printf(&b, "%lde-6", (long)v);
		decimal_parse(buf_slice(&b), &one);
		decimal_add(&all, &one, &all);
	}
	snprintf(want, sizeof(want), "%s%ld.%06ld", units < 0 ? "-" : "", labs((long)units) / 1000000, labs((long)units) % 1000000);
	text.n = 0;
	decimal_put_rounded(&all, 6, &text);
	CHECK_STR(buf_string(&text), want);
	decimal_free(&all);
	decimal_free(&one);
	decimal_free(&tenth);
	buf_free(&b);
}

int
main(void)
{
	spellings();
	sums();
	people();
	many();
	buf_free(&text);
	return check_done();
}
