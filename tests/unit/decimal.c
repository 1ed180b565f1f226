/* decimal: spellings, sums, products and rounding of exact decimals. */
#include "lib/base/decimal.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/unit/check.h"

static struct buf text;

static const char *
put(struct decimal d)
{
	text.n = 0;
	return decimal_put(d, 0, &text) == 0 ? buf_string(&text) : NULL;
}

static struct decimal
read_number(const char *number)
{
	struct decimal d = {0};

	CHECK(decimal_parse(slice_of(number), &d));
	return d;
}

static const char *
parsed(const char *number)
{
	struct decimal d;

	return decimal_parse(slice_of(number), &d) ? put(d) : "none";
}

static const char *
calc(const char *a, char op, const char *b)
{
	struct decimal x = read_number(a), y = read_number(b);

	if (!(op == '+' ? decimal_add(x, y, &x) : decimal_subtract(x, y, &x)))
		return "too large";
	return put(x);
}

static int
compared(const char *a, const char *b)
{
	return decimal_compare(read_number(a), read_number(b));
}

static const char *
rounded(const char *number, unsigned places)
{
	struct decimal d = read_number(number);

	text.n = 0;
	decimal_put_rounded(d, places, &text);
	return buf_string(&text);
}

static const char *
money(const char *number, const char *currency)
{
	struct decimal d = read_number(number);

	text.n = 0;
	decimal_put_money(d, slice_of(currency), &text);
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
	CHECK_STR(parsed("99999999999999.123456789012345678901234"), "99999999999999.123456789012345678901234");
	CHECK_STR(parsed("1e-24"), "0.000000000000000000000001");
	CHECK_STR(parsed("1.50000000000000000000000000000000000"), "1.5");
	CHECK_STR(parsed("00000000000000000000000000000000012"), "12");
	/* More decimals than fit are rounded, half away from zero. */
	CHECK_STR(parsed("1e-25"), "0");
	CHECK_STR(parsed("-5e-25"), "-0.000000000000000000000001");
	CHECK_STR(parsed("5.1234567890123456789012345678"), "5.123456789012345678901235");
	CHECK_STR(parsed("0.0000000000000000000000149999"), "0.000000000000000000000015");
	CHECK_STR(parsed("0.0000000000000000000000014999"), "0.000000000000000000000001");
	CHECK_STR(parsed("1.9999999999999999999999995"), "2");
	CHECK_STR(parsed("170141183460469.231731687303715884105727"), "170141183460469.231731687303715884105727");
	/* What is too large is none. */
	CHECK_STR(parsed("170141183460469.2317316873037158841057275"), "none");
	CHECK_STR(parsed("200000000000000"), "none");
	CHECK_STR(parsed("18446744073709551615"), "none");
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
	CHECK_STR(parsed("1e-20000"), "0");
	CHECK_STR(parsed("0e-99999999999999"), "0");
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
	CHECK_STR(calc("170000000000000", '+', "170000000000000"), "too large");
	CHECK_STR(calc("-170000000000000", '-', "170000000000000"), "too large");
	CHECK_STR(calc("-5", '+', "3"), "-2");
	CHECK_STR(calc("-5", '-', "-7"), "2");
	CHECK_STR(calc("0", '-', "7"), "-7");
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
	struct decimal all = {0}, one;
	struct buf b = {0};
	int64_t units = 0, v;
	char want[64];
	int i, failed = 0;

	for (i = 0; i < 1000000; i++)
		failed += !decimal_add(all, read_number("0.1"), &all);
	CHECK(failed == 0);
	CHECK_STR(put(all), "100000");
	all.units = 0;
	srand(4);
	for (i = 0; i < 10000; i++) {
		v = rand() % 2000000000 - 1000000000;
		units += v;
		b.n = 0;
		buf_printf(&b, "%lde-6", (long)v);
		failed += !decimal_parse(buf_slice(&b), &one) || !decimal_add(all, one, &all);
	}
	CHECK(failed == 0);
	snprintf(want, sizeof(want), "%s%ld.%06ld", units < 0 ? "-" : "", labs((long)units) / 1000000, labs((long)units) % 1000000);
	text.n = 0;
	decimal_put_rounded(all, 6, &text);
	CHECK_STR(buf_string(&text), want);
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
