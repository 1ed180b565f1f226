/* The terminal: the table, a menu above the last lines, and keys. */
#include <curses.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/acp-top/top.h"
#include "lib/attach/attach.h"
#include "lib/base/cells.h"
#include "lib/base/text.h"

enum { HEAD = 2, FOOT = 2, ESCAPE = 27, ESCAPE_MS = 25, WIDTH_MOST = 4096 };

enum mode { MODE_TABLE, MODE_SEARCH, MODE_ORDER, MODE_RESPOND, MODE_FOLLOW };

struct display {
	struct top *top;
	SCREEN *terminal;
	bool color;
	struct loop_fd keys;
	enum mode mode;
	const struct stream *stream;   /* of the row that is chosen; NULL: none */
	const struct session *session; /* likewise; or NULL */
	size_t chosen, first;          /* rows: the chosen one, the first that is drawn */
	size_t item;                   /* of the menu */
	struct buf search;
	struct respond *respond;
	const struct session_question *question; /* to which it is */
	struct follow *follow;
	const struct session *followed;
};

/* --- drawing --- */

/* What the codes of lib/base/cells are here. */
static attr_t
attribute(const char **p, const char *end)
{
	attr_t a = A_NORMAL;
	unsigned long n;
	char *next;

	do {
		n = strtoul(*p, &next, 10);
		a |= n == 1 ? A_BOLD : n == 2 ? A_DIM : n == 38 ? (attr_t)COLOR_PAIR(3) : n > 30 && n < 37 ? (attr_t)COLOR_PAIR((int)n - 30) : 0;
		*p = next;
	} while (*p < end && n != 38 && *(*p)++ == ';');
	while (*p < end && (*p)[-1] != 'm')
		(*p)++;
	return a;
}

/* A line that cells has written, which ends in a newline. */
static void
draw_line(int y, struct slice line, attr_t with)
{
	const char *p = line.p, *end = line.p + line.n - (line.n > 0), *escape;

	move(y, 0);
	clrtoeol();
	attrset((int)with);
	while (p < end) {
		escape = memchr(p, '\033', (size_t)(end - p));
		addnstr(p, (int)((escape ? escape : end) - p));
		p = escape ? escape + 2 : end;
		if (escape)
			attrset((int)(attribute(&p, end) | with));
	}
	if (with & A_REVERSE)
		chgat(-1, with, 0, NULL);
}

/* Of the menu, as respond_put_option has it. */
static int
put_item(const struct display *d, size_t i, struct buf *to)
{
	if (d->mode == MODE_RESPOND)
		return respond_put_option(d->respond, i, to);
	return d->mode == MODE_ORDER && i < ORDERS ? buf_add_string(to, order_names[i]) : 1;
}

static size_t
items(const struct display *d)
{
	SCOPED struct buf any = {0};
	size_t n = 0;

	while (put_item(d, n, &any) == 0)
		n++;
	return n;
}

static const struct row *
chosen(const struct display *d)
{
	return d->chosen < d->top->nrows ? &d->top->rows[d->chosen] : NULL;
}

/* The row stays chosen wherever it has moved; where it has gone, the one that is there now. */
static void
find_chosen(struct display *d)
{
	const struct top *t = d->top;

	for (size_t i = 0; d->stream && i < t->nrows; i++)
		if (t->rows[i].stream == d->stream && t->rows[i].session == d->session)
			d->chosen = i;
	if (d->chosen >= t->nrows)
		d->chosen = t->nrows ? t->nrows - 1 : 0;
}

/* So many rows are drawn, and the chosen one is among them. */
static void
scroll_to_chosen(struct display *d, size_t height)
{
	const struct top *t = d->top;

	if (d->first > d->chosen)
		d->first = d->chosen;
	if (d->chosen >= d->first + height)
		d->first = d->chosen - height + 1;
	if (d->first + height > t->nrows)
		d->first = t->nrows > height ? t->nrows - height : 0;
}

/* What the columns have no room for; without a row, what to do. */
static int
put_detail(const struct display *d, struct buf *to)
{
	const struct row *r = chosen(d);
	struct slice parts[] = {r ? row_directory(r) : slice_of(attach_nothing), r ? row_title(r) : slice(NULL, 0), r ? row_detail(r) : slice(NULL, 0),
		r && r->seen ? buf_slice(&r->seen->text) : slice(NULL, 0)};
	SCOPED struct buf line = {0};
	int e = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].n)
			e |= buf_add_string(&line, line.n ? "  " : "") | buf_add_slice(&line, parts[i]);
	return e | cells_put(to, buf_slice(&line), d->top->width) | buf_add_string(to, "\n");
}

static void
draw_last(const struct display *d)
{
	static const char keys[] = "Enter messages  a respond  o order  / n search  q quit";
	struct slice said = buf_slice(&d->top->said);

	move(LINES - 1, 0);
	clrtoeol();
	attrset(said.n ? (int)A_BOLD : (int)A_DIM);
	if (d->mode == MODE_SEARCH)
		printw("/%.*s", (int)d->search.n, d->search.n ? d->search.p : "");
	else
		addnstr(said.n ? said.p : d->mode == MODE_TABLE ? keys : "Enter chooses  Esc leaves", said.n ? (int)said.n : -1);
}

int
display_draw(struct display *d, const struct totals *sums)
{
	struct top *t = d->top;
	SCOPED struct buf line = {0}, option = {0};
	size_t menu = items(d), room = LINES > HEAD + FOOT ? (size_t)LINES - HEAD - FOOT : 0, height = room > menu ? room - menu : 0, i;
	int e, y = HEAD;

	if (d->mode == MODE_FOLLOW)
		return 0;
	t->width = COLS > WIDTH_MOST ? WIDTH_MOST : (unsigned)COLS;
	find_chosen(d);
	scroll_to_chosen(d, height ? height : 1);
	e = put_totals(t, sums, d->color, &line);
	draw_line(0, buf_slice(&line), A_NORMAL);
	line.n = 0;
	e |= put_names(t, d->color, &line);
	draw_line(1, buf_slice(&line), A_NORMAL);
	for (i = d->first; i < d->first + height; i++, y++) {
		line.n = 0;
		if (i < t->nrows)
			e |= put_row(t, &t->rows[i], t->width, d->color && i != d->chosen, &line);
		draw_line(y, buf_slice(&line), i == d->chosen && t->nrows ? A_REVERSE : A_NORMAL);
	}
	for (i = d->item < room ? 0 : d->item - room + 1; i < menu && y < LINES - FOOT; i++, y++) {
		line.n = option.n = 0;
		e |= put_item(d, i, &option) | buf_printf(&line, " %zu  ", i + 1)
			| cells_put(&line, buf_slice(&option), t->width > 8 ? t->width - 8 : 0) | buf_add_string(&line, "\n");
		draw_line(y, buf_slice(&line), i == d->item ? A_REVERSE : A_NORMAL);
	}
	line.n = 0;
	e |= put_detail(d, &line);
	draw_line(LINES - 2, buf_slice(&line), A_BOLD);
	draw_last(d);
	refresh();
	return e;
}

/* --- what a session says --- */

static void
leave_follow(void *arg, int status)
{
	struct display *d = arg;

	(void)status;
	follow_close(d->follow);
	d->follow = NULL;
	d->mode = MODE_TABLE;
	clearok(curscr, TRUE);
	refresh();
	top_changed(d->top);
}

static void
enter_follow(struct display *d, const struct row *r)
{
	SCOPED struct buf title = {0};
	struct termios terminal;

	endwin();
	/* Keys still come one by one. */
	if (tcgetattr(STDIN_FILENO, &terminal) == 0) {
		terminal.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
	}
	if (text_plain(&title, row_title(r)) == 0)
		printf("--- %.*s (a key returns)\n", (int)title.n, title.n ? title.p : "");
	fflush(stdout);
	d->mode = MODE_FOLLOW;
	d->followed = r->session;
	d->follow = follow_open(d->top, r, leave_follow, d);
	if (d->follow)
		return;
	leave_follow(d, 0);
	top_say(d->top, "acp-tap: %s", strerror(errno));
}

void
display_message(struct display *d, const struct session *s, struct slice record)
{
	if (d->follow && s == d->followed)
		follow_message(d->follow, record);
}

/* --- keys --- */

static void
choose(struct display *d, size_t i)
{
	const struct row *r;

	d->chosen = i < d->top->nrows ? i : d->top->nrows ? d->top->nrows - 1 : 0;
	r = chosen(d);
	d->stream = r ? r->stream : NULL;
	d->session = r ? r->session : NULL;
}

/* The next row that has the text in it, from this one on. */
static void
search(struct display *d, size_t from)
{
	const struct top *t = d->top;
	SCOPED struct buf line = {0};
	size_t i;

	for (size_t n = 0; d->search.n && n < t->nrows; n++) {
		i = (from + n) % t->nrows;
		line.n = 0;
		if (put_row(t, &t->rows[i], WIDTH_MOST, false, &line) == 0 && buf_string(&line) && buf_string(&d->search)
			&& strcasestr(line.p, d->search.p)) {
			choose(d, i);
			return;
		}
	}
	top_say(d->top, "no row has it");
}

void
display_answered(struct display *d, const struct session_question *question)
{
	if (!d->respond || d->question != question)
		return;
	respond_close(d->respond);
	d->respond = NULL;
	if (d->mode == MODE_RESPOND) {
		d->mode = MODE_TABLE;
		top_say(d->top, "it has a response already");
	}
}

static void
enter_menu(struct display *d, enum mode mode)
{
	const struct row *r = chosen(d);

	if (mode == MODE_RESPOND && (!r || !r->question)) {
		top_say(d->top, "it does not wait for you");
		return;
	}
	if (mode == MODE_RESPOND) {
		respond_close(d->respond);
		d->respond = respond_open(d->top, r);
		d->question = r->question->question;
		d->top->failed |= !d->respond;
	}
	d->mode = d->respond || mode == MODE_ORDER ? mode : MODE_TABLE;
	d->item = mode == MODE_ORDER ? (size_t)d->top->order : 0;
}

static void
menu_key(struct display *d, int key)
{
	size_t n = items(d);

	if (key == KEY_UP)
		d->item -= d->item > 0;
	else if (key == KEY_DOWN)
		d->item += d->item + 1 < n;
	else if (key >= '1' && key <= '9' && (size_t)(key - '1') < n)
		d->item = (size_t)(key - '1');
	else if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		/* After our response the connection stays until the question has a response. */
		if (d->mode == MODE_ORDER)
			d->top->order = (enum order)d->item;
		else
			respond_send(d->respond, d->item);
		d->mode = MODE_TABLE;
	} else if (key == ESCAPE || key == 'q')
		d->mode = MODE_TABLE;
}

static void
search_key(struct display *d, int key)
{
	char c = (char)key;

	if (key == ESCAPE || key == '\r' || key == '\n' || key == KEY_ENTER)
		d->mode = MODE_TABLE;
	if (key == ESCAPE)
		return;
	if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		/* With all bytes of a character. */
		do
			d->search.n -= d->search.n > 0;
		while (d->search.n && ((unsigned char)d->search.p[d->search.n] & 0xc0) == 0x80);
	} else if (key >= ' ' && key < 256) {
		d->top->failed |= buf_add(&d->search, &c, 1) < 0;
	}
	search(d, d->chosen);
}

static void
table_key(struct display *d, int key)
{
	size_t page = LINES > HEAD + FOOT ? (size_t)LINES - HEAD - FOOT : 1, at = d->chosen;
	const struct row *r = chosen(d);

	switch (key) {
	case KEY_UP:
		choose(d, at - (at > 0));
		return;
	case KEY_DOWN:
		choose(d, at + 1);
		return;
	case KEY_PPAGE:
		choose(d, at > page ? at - page : 0);
		return;
	case KEY_NPAGE:
		choose(d, at + page);
		return;
	case KEY_HOME:
		choose(d, 0);
		return;
	case KEY_END:
		choose(d, SIZE_MAX);
		return;
	case '/':
		d->search.n = 0;
		d->mode = MODE_SEARCH;
		return;
	case 'n':
		search(d, at + 1);
		return;
	case 'o':
	case KEY_F(6):
		enter_menu(d, MODE_ORDER);
		return;
	case 'a':
		enter_menu(d, MODE_RESPOND);
		return;
	case '\r':
	case '\n':
	case KEY_ENTER:
		if (r && r->session)
			enter_follow(d, r);
		return;
	case 'q':
		loop_stop(d->top->loop);
	}
}

static void
on_keys(void *arg, short revents)
{
	static void (*const handle[])(struct display *, int) = {[MODE_TABLE] = table_key, [MODE_SEARCH] = search_key,
		[MODE_ORDER] = menu_key, [MODE_RESPOND] = menu_key};
	struct display *d = arg;
	struct totals sums;
	char any[64];
	int key = ERR;

	if (d->mode == MODE_FOLLOW && read(STDIN_FILENO, any, sizeof(any)) != 0) {
		leave_follow(d, 0);
		return;
	}
	/* What has come since the last picture may have freed what the rows were of. */
	d->top->failed |= rows_make(d->top, false, &sums) < 0;
	buf_free(&sums.cost);
	find_chosen(d);
	while (d->mode != MODE_FOLLOW && (key = getch()) != ERR) {
		d->top->said.n = 0;
		handle[d->mode](d, key);
	}
	/* The terminal has gone. */
	if (revents & (POLLHUP | POLLERR))
		loop_stop(d->top->loop);
	top_changed(d->top);
}

/* --- all --- */

void
display_resize(struct display *d)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	top_changed(d->top);
}

int
display_open(struct top *t)
{
	struct display *d = calloc(1, sizeof(*d));

	if (d && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		d->terminal = newterm(NULL, stdout, stdin);
	/* A dumb one. */
	if (d && d->terminal && !tigetstr("cup")) {
		endwin();
		delscreen(d->terminal);
		d->terminal = NULL;
	}
	if (!d || !d->terminal) {
		cli_warn(top_name, "%s", !d ? "out of memory"
			: "standard input and output have to be a terminal that the screen can be drawn on; else use --batch");
		free(d);
		return d ? EXIT_USAGE : EXIT_FAILED;
	}
	d->top = t;
	/* What a command says would be drawn over. */
	if (!freopen("/dev/null", "w", stderr))
		errno = 0;
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	d->color = cli_wants_color(t->options->color, STDOUT_FILENO) && has_colors() && start_color() == OK;
	use_default_colors();
	for (short i = 1; d->color && i < 7; i++)
		init_pair(i, i, -1);
	d->keys = (struct loop_fd){.fd = STDIN_FILENO, .events = POLLIN, .ready = on_keys, .arg = d};
	loop_add_fd(t->loop, &d->keys);
	t->display = d;
	return 0;
}

void
display_close(struct display *d)
{
	if (!d)
		return;
	follow_close(d->follow);
	endwin();
	delscreen(d->terminal);
	respond_close(d->respond);
	loop_remove_fd(d->top->loop, &d->keys);
	buf_free(&d->search);
	free(d);
}
