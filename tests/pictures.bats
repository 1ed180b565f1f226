#!/usr/bin/env bats
# The README's pictures of terminals, which scripts/pictures draws.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

@test "the pictures show what the tools print today; otherwise run scripts/pictures" {
	"$TOP/scripts/pictures" drawn
	for picture in timeline usage top; do
		[[ $picture != top || -x $B/bin/acp-top ]] || continue
		for page in light dark; do
			cmp "drawn/$picture-$page.svg" "$TOP/man/pictures/$picture-$page.svg"
		done
	done
}

@test "every picture is XML, and the README shows it" {
	python3 - "$TOP"/man/pictures/*.svg <<-'END'
		import sys, xml.etree.ElementTree as tree
		for path in sys.argv[1:]:
		    tree.parse(path)
	END
	for picture in "$TOP"/man/pictures/*.svg; do grep -q "man/pictures/${picture##*/}" "$TOP/README.md"; done
}
