#!/bin/sh
# SPDX-License-Identifier: MIT
# The links of the project's texts, and of the pages for a browser that are made of them, lead somewhere
# (test/tools/links.sh); and the index leads to every text.
pages=$O/html
bad=0
sh docs/html/build.sh "$pages" >/dev/null || exit

for text in $(find . \( -name '.?*' -o -path ./build \) -prune -o -name '*.md' -print | sed 's|^\./||'); do
	grep -q "href=\"${text%.md}.html" "$pages/index.html" || { echo "the index does not lead to $text"; bad=1; }
done
sh test/tools/links.sh . md || bad=1
sh test/tools/links.sh "$pages" html || bad=1
exit $bad
