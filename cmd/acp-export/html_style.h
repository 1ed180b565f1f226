/* html_style: the style of the HTML page. The page's policy has its hash: change both together (the test prints the new hash). */
#ifndef HTML_STYLE_H
#define HTML_STYLE_H

extern const char *const html_style[]; /* the parts of the style; NULL ends them */
extern const char html_style_hash[];   /* "sha256-BASE64" */

#endif
