#!/bin/sh
# ccache.sh CCACHE COMPILER ARGUMENTS...: a compiler behind its cache.
#
# A header that is precompiled anew must not be read from the precompiled one that lies there: the compiler
# itself would not, but ccache preprocesses first, finds the old one and gives it back ("redefinition of",
# "no member" in the files behind it). No file here asks for the time, which precompiled headers need to be
# known again (ccache's manual, "Precompiled headers").
# A precompiled header knows the headers in it by size and content, comments included, so it is known again by
# these and not by what is left of them when preprocessed (depend mode): else a comment that was changed gave
# the old one back, and every header in it was defined twice.
before=
case " $* " in
  *" c++-header "*)
    export CCACHE_DEPEND=1
    for word; do
      if [ "$before" = -o ]; then rm -f "$word"; fi
      before=$word
    done
    ;;
esac
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$@"
