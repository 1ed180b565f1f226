/* form: an elicitation, which asks for values by a schema. */
#ifndef FORM_H
#define FORM_H

#include "cmd/acp-ask/ask.h"

struct form;

/* The form of these params, which must outlive it. NULL: it is none that can be filled in. */
struct form *form_new(struct slice params);
void form_free(struct form *);
/* Appends the response with the values that this object (JSON) has for it, or one that cancels. False: a value is missing or not valid. */
bool form_fill(struct form *, struct slice values, struct buf *result);
/* Shows the field that is asked for at the terminal. */
void form_show(struct form *, struct ask *);
/* Reads what was typed for it (ended: the person has declined). True: that was the last, and the response is appended. */
bool form_read(struct form *, struct slice typed, bool ended, struct buf *result);

#endif
