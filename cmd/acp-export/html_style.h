/* html_style: how the HTML page looks. Its hash stands in the page's policy: who changes the style changes the hash (a test says to what). */
#ifndef HTML_STYLE_H
#define HTML_STYLE_H

extern const char *const html_style[]; /* pieces, up to NULL */
extern const char html_style_hash[];   /* "sha256-BASE64" */

#endif
