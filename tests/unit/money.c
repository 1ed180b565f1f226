/* money: amounts with their currencies. */
#include "lib/base/money.h"

#include "tests/unit/check.h"

static void
test_lists(void)
{
	struct money_list list = {.n = 0};
	const char *why;

	CHECK(money_read(&list, "5USD", false, &why) == 0 && list.n == 1);
	CHECK(money_read(&list, "0.50eur,7credits,.5X", false, &why) == -1 && list.n == 3);
	CHECK_STR(list.at[0].currency, "USD");
	CHECK_STR(list.at[1].currency, "EUR");
	CHECK_STR(list.at[2].currency, "credits");
	CHECK(list.at[0].amount.units != 0);
	money_free(&list);
	CHECK(list.n == 0);
}

static void
test_periods(void)
{
	static const char *const bad[] = {"1USD/", "1USD/year", "1USD/da", "1USD/day/", "1/day", "1USD/Day"};
	struct money_list list = {.n = 0};
	const char *why;

	CHECK(money_read(&list, "5usd/day,20USD/week,60EUR/month,1USD/session,2USD", true, &why) == 0 && list.n == 5);
	for (size_t i = 0; i < list.n; i++)
		CHECK(list.at[i].period == ((const enum calendar_period[]){CALENDAR_DAY, CALENDAR_WEEK, CALENDAR_MONTH, CALENDAR_ALWAYS,
			CALENDAR_ALWAYS})[i]);
	CHECK_STR(list.at[0].currency, "USD");
	money_free(&list);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!CHECK(money_read(&list, bad[i], true, &why) == -1))
			fprintf(stderr, "\t\"%s\"\n", bad[i]);
		CHECK_STR(why, "expected amounts with their currencies, such as 5USD,20USD/day");
		money_free(&list);
	}
}

static void
test_bad(void)
{
	static const char *const bad[] = {"", "5", "USD", "1USD,", ",1USD", "1.2.3USD", "-1USD", " 1USD", "1USD/day", "1/day"};
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct money_list list = {.n = 0};

		if (!CHECK(money_read(&list, bad[i], false, &why) == -1))
			fprintf(stderr, "\t\"%s\"\n", bad[i]);
		CHECK_STR(why, "expected amounts with their currencies, such as 1USD,5EUR");
		money_free(&list);
	}
}

static void
test_most(void)
{
	struct money_list list = {.n = 0};
	const char *why;
	size_t i;

	for (i = 0; i < MONEY_MOST; i++)
		CHECK(money_read(&list, "1USD", false, &why) == 0);
	CHECK(money_read(&list, "1USD", false, &why) == -1 && list.n == MONEY_MOST);
	CHECK_STR(why, "too many amounts");
	money_free(&list);
}

int
main(void)
{
	test_lists();
	test_periods();
	test_bad();
	test_most();
	return check_done();
}
