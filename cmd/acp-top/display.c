/* The terminal: the table, a menu above the last lines, and keys. */
#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/acp-top/top.h"
#include "lib/base/cells.h"
#include "lib/recording/recording.h"
#include "lib/run/proc.h"

enum {
	HEAD = 2, FOOT = 2,   /* lines above and below the rows */
	ESCAPE = 27,
	ESCAPE_MS = 25,
	WIDTH_MOST = 4096,
	QUEUED = 1024 * 1024, /* bytes queued for acp-tap, beyond which messages are left out: the terminal may be stopped */
};

enum mode { MODE_TABLE, MODE_SEARCH, MODE_ORDER, MODE_RESPOND, MODE_FOLLOW };

struct display {
	struct top *top;
	SCREEN *terminal;
	struct loop_fd keys;
	enum mode mode;
	const struct stream *stream;   /* of the chosen row; NULL: none is chosen */
	const struct session *session; /* of the chosen row, or NULL */
	size_t chosen, first;          /* indexes of rows: the chosen one, the first one that is drawn */
	size_t item;                   /* the chosen line of the menu */
	struct buf search;
	struct respond respond;
	const struct session *followed; /* MODE_FOLLOW: acp-tap prints the messages of this session */
	struct endpoint tap;           /* the input of that acp-tap */
	struct loop_child tap_child;
};

/* --- drawing --- */

/* The attribute for a style in the form that lib/base/cells writes: \033[m or \033[0;Nm. */
static attr_t
attribute(const char **p)
{
	int n = 0;

	for (; **p != 'm'; ++*p)
		n = byte_is_digit(**p) ? 10 * n + **p - '0' : 0;
	++*p;
	return n == 1 ? A_BOLD : n == 2 ? A_DIM : n > 30 ? (attr_t)COLOR_PAIR(n - 30) : A_NORMAL;
}

/* Draws joined characters apart: to cells and to curses each has its own width, but not to every terminal. */
static void
separate(struct buf *line)
{
	size_t n = 0;

	for (size_t i = 0; i < line->n; i++) {
		line->p[n++] = line->p[i];
		if (n >= 3 && (memcmp(line->p + n - 3, "\u200d", 3) == 0 || memcmp(line->p + n - 3, "\ufe0f", 3) == 0))
			n -= 3;
	}
	line->n = n;
}

/* Draws a line that cells has written, with its newline, and empties the buffer. */
static void
draw_line(int y, struct buf *line, attr_t with)
{
	const char *p, *end, *escape;

	separate(line);
	p = line->p;
	end = p + line->n - (line->n > 0);
	move(y, 0);
	clrtoeol();
	attrset((int)with);
	while (p < end) {
		escape = memchr(p, '\033', (size_t)(end - p));
		addnstr(p, (int)((escape ? escape : end) - p));
		p = escape ? escape + 2 : end;
		if (escape)
			attrset((int)(attribute(&p) | with));
	}
	if (with & A_REVERSE)
		chgat(-1, with, 0, NULL);
	line->n = 0;
}

/* Appends a line of the menu, as respond_put_option does. */
static int
put_item(const struct display *d, size_t i, struct buf *to)
{
	static const char *const orders[ORDERS] = {"state", "agent", "title", "turn", "context", "tokens", "cost"};

	if (d->mode == MODE_RESPOND)
		return respond_put_option(&d->respond, i, to);
	return d->mode == MODE_ORDER && i < ORDERS ? buf_add_string(to, orders[i]) : 1;
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

/* How many rows fit on the screen without a menu. */
static size_t
page(void)
{
	return LINES > HEAD + FOOT ? (size_t)LINES - HEAD - FOOT : 0;
}

static const struct row *
chosen(const struct display *d)
{
	return d->chosen < d->top->nrows ? &d->top->rows[d->chosen] : NULL;
}

/* Finds the chosen row, which may have moved. If it has gone, the row at its place is chosen. */
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

/* Scrolls so that the chosen row is among the rows that are drawn. */
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

/* Draws what the columns have no room for, or, without a row, what to do. */
static int
put_detail(const struct display *d, struct buf *to)
{
	static const struct row none;
	const struct row *r = chosen(d) ? chosen(d) : &none;
	struct slice parts[] = {r->stream ? r->directory : slice_of(attach_none_shared), r->title, r->detail,
		r->seen ? buf_slice(&r->seen->text) : slice(NULL, 0)};
	SCOPED struct buf line = {0};
	int e = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].n)
			e |= buf_add_string(&line, line.n ? "  " : "") || buf_add_slice(&line, parts[i]);
	return e || cells_put(to, buf_slice(&line), d->top->width) || buf_add_string(to, "\n") ? -1 : 0;
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
display_draw(struct display *d)
{
	struct top *t = d->top;
	SCOPED struct buf line = {0}, option = {0};
	size_t menu = items(d), room = page(), height = room > menu ? room - menu : 0, i;
	int e, y = HEAD;

	if (d->mode == MODE_FOLLOW)
		return 0;
	t->width = COLS > WIDTH_MOST ? WIDTH_MOST : (unsigned)COLS;
	find_chosen(d);
	scroll_to_chosen(d, height ? height : 1);
	e = put_totals(t, &line);
	draw_line(0, &line, A_NORMAL);
	e |= put_names(t, &line);
	draw_line(1, &line, A_NORMAL);
	for (i = d->first; i < d->first + height; i++, y++) {
		if (i < t->nrows)
			e |= put_row(t, &t->rows[i], t->width, t->color && i != d->chosen, &line);
		draw_line(y, &line, i == d->chosen && t->nrows ? A_REVERSE : A_NORMAL);
	}
	for (i = d->item < room ? 0 : d->item - room + 1; i < menu && y < LINES - FOOT; i++, y++) {
		option.n = 0;
		e |= put_item(d, i, &option) || buf_printf(&line, " %zu  ", i + 1)
			|| cells_put(&line, buf_slice(&option), t->width > 8 ? t->width - 8 : 0) || buf_add_string(&line, "\n");
		draw_line(y, &line, i == d->item ? A_REVERSE : A_NORMAL);
	}
	e |= put_detail(d, &line);
	draw_line(LINES - 2, &line, A_BOLD);
	draw_last(d);
	refresh();
	return e ? -1 : 0;
}

/* --- the messages of a session: acp-tap runs on the terminal, and reads a recording that goes on --- */

static void
stop_tap(struct display *d)
{
	endpoint_close(&d->tap);
	d->followed = NULL;
	if (d->tap_child.pid <= 0)
		return;
	proc_signal(d->tap_child.pid, SIGTERM);
	loop_reap(d->top->loop, &d->tap_child);
	d->tap_child.pid = 0;
}

static void
leave_follow(void *arg, int status)
{
	struct display *d = arg;

	(void)status;
	stop_tap(d);
	d->mode = MODE_TABLE;
	clearok(curscr, TRUE);
	refresh();
	top_changed(d->top);
}

static int
start_tap(struct display *d, const struct row *r)
{
	char *const color = d->top->options->color == COLOR_NEVER ? "--color=never" : "--color=auto";
	char *const argv[] = {"acp-tap", "--fold", color, "-", NULL};
	struct proc_fd input = {.number = STDIN_FILENO};
	const struct proc_spec spec = {.argv = argv, .fds = &input, .nfds = 1};
	SCOPED struct buf records = {0};
	int ends[2], opened;

	if (recording_put_header(&records, r->stream->started, top_name, NULL, NULL) < 0
		|| buf_add_slice(&records, buf_slice(&r->seen->recent)) < 0 || proc_pipe(ends) < 0)
		return -1;
	d->followed = r->session;
	opened = endpoint_open(&d->tap, d->top->loop, -1, ends[1], 0);
	input.ours = ends[0];
	d->tap_child = (struct loop_child){.pid = proc_start(&spec, NULL), .ended = leave_follow, .arg = d};
	proc_close(ends[0]);
	if (d->tap_child.pid < 0 || opened < 0)
		return -1;
	loop_add_child(d->top->loop, &d->tap_child);
	return endpoint_put(&d->tap, NULL, buf_slice(&records));
}

static void
enter_follow(struct display *d, const struct row *r)
{
	struct termios terminal;
	SCOPED struct buf title = {0};

	endwin();
	/* acp-top still reads single keys. */
	if (tcgetattr(STDIN_FILENO, &terminal) == 0) {
		terminal.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
	}
	if (text_plain(&title, r->title) == 0)
		printf("--- %.*s (a key returns)\n", (int)title.n, title.n ? title.p : "");
	fflush(stdout);
	d->mode = MODE_FOLLOW;
	if (start_tap(d, r) == 0)
		return;
	top_say(d->top, "acp-tap: %s", strerror(errno));
	leave_follow(d, 0);
}

void
display_message(struct display *d, const struct session *s, struct slice record)
{
	if (s == d->followed && d->tap.out.queued <= QUEUED)
		(void)endpoint_put(&d->tap, NULL, record);
}

/* --- keys --- */

/* Moves *at, one of n, as the key says. False: it is no such key. */
static bool
moves(int key, size_t *at, size_t n)
{
	size_t by = key == KEY_PPAGE || key == KEY_NPAGE ? page() : 1;

	if (key == KEY_HOME)
		*at = 0;
	else if (key == KEY_UP || key == KEY_PPAGE)
		*at -= by < *at ? by : *at;
	else if (key == KEY_DOWN || key == KEY_NPAGE || key == KEY_END)
		*at = n == 0 ? 0 : key == KEY_END || *at + by >= n ? n - 1 : *at + by;
	else
		return false;
	return true;
}

static void
choose(struct display *d, size_t i)
{
	const struct row *r;

	d->chosen = i;
	r = chosen(d);
	d->stream = r ? r->stream : NULL;
	d->session = r ? r->session : NULL;
}

/* Chooses the next row that contains the text, from this one on. */
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
display_answered(struct display *d, const struct session_request *question)
{
	if (d->respond.question != question)
		return;
	respond_close(&d->respond);
	if (d->mode == MODE_RESPOND) {
		d->mode = MODE_TABLE;
		top_say(d->top, "it has a response already");
	}
}

static void
menu_key(struct display *d, int key)
{
	size_t n = items(d);

	if (key == KEY_UP || key == KEY_DOWN)
		moves(key, &d->item, n);
	else if (key >= '1' && key <= '9' && (size_t)(key - '1') < n)
		d->item = (size_t)(key - '1');
	else if (key == '\r') {
		/* After our response the connection stays open until the question has a response. */
		if (d->mode == MODE_ORDER) {
			d->top->order = (enum order)d->item;
			rows_make(d->top);
		} else
			respond_send(&d->respond, d->item);
		d->mode = MODE_TABLE;
	} else if (key == ESCAPE || key == 'q')
		d->mode = MODE_TABLE;
}

static void
search_key(struct display *d, int key)
{
	char c = (char)key;

	if (key == ESCAPE || key == '\r')
		d->mode = MODE_TABLE;
	if (key == ESCAPE)
		return;
	if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		/* Removes all bytes of a character. */
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
	struct top *t = d->top;
	const struct row *r = chosen(d);
	size_t at = d->chosen;

	if (moves(key, &at, t->nrows))
		choose(d, at);
	else if (key == '/') {
		d->search.n = 0;
		d->mode = MODE_SEARCH;
	} else if (key == 'n')
		search(d, at + 1);
	else if (key == 'o' || key == KEY_F(6)) {
		d->mode = MODE_ORDER;
		d->item = (size_t)t->order;
	} else if (key == 'a' && r && r->question && r->question->question->data) {
		respond_open(&d->respond, t, r);
		d->mode = MODE_RESPOND;
		d->item = 0;
	} else if (key == 'a')
		top_say(t, "it does not wait for you");
	else if (key == '\r' && r && r->session)
		enter_follow(d, r);
	else if (key == 'q')
		loop_stop(t->loop);
}

static void
on_keys(void *arg, short revents)
{
	static void (*const handle[])(struct display *, int) = {[MODE_TABLE] = table_key, [MODE_SEARCH] = search_key,
		[MODE_ORDER] = menu_key, [MODE_RESPOND] = menu_key};
	struct display *d = arg;
	char any[64];
	int key = ERR;

	if (d->mode == MODE_FOLLOW && read(STDIN_FILENO, any, sizeof(any)) != 0) {
		leave_follow(d, 0);
		return;
	}
	/* Messages since the last picture may have freed sessions of which there are rows. */
	rows_make(d->top);
	find_chosen(d);
	while (d->mode != MODE_FOLLOW && (key = getch()) != ERR) {
		d->top->said.n = 0;
		handle[d->mode](d, key == '\n' || key == KEY_ENTER ? '\r' : key);
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

	if (!d)
		cli_die(EXIT_FAILED, top_name, "out of memory");
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		d->terminal = newterm(NULL, stdout, stdin);
	/* A dumb terminal cannot be used. */
	if (!d->terminal || !tigetstr("cup")) {
		if (d->terminal) {
			endwin();
			delscreen(d->terminal);
		}
		free(d);
		cli_warn(top_name, "standard input and output have to be a terminal that the screen can be drawn on; else use --batch");
		return EXIT_USAGE;
	}
	d->top = t;
	/* The screen would hide the output of a command. */
	if (!freopen("/dev/null", "w", stderr))
		errno = 0;
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	t->color = cli_wants_color(t->options->color, STDOUT_FILENO) && has_colors() && start_color() == OK;
	use_default_colors();
	for (short i = 1; t->color && i < 7; i++)
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
	stop_tap(d);
	endwin();
	delscreen(d->terminal);
	respond_close(&d->respond);
	loop_remove_fd(d->top->loop, &d->keys);
	buf_free(&d->search);
	free(d);
}
