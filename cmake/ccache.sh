#!/bin/sh
# ccache.sh CCACHE COMPILER ARGUMENTS...: a compiler behind its cache.
#
# A header that is precompiled anew must not be read from the precompiled one that lies there: the compiler
# itself would not, but ccache preprocesses first, finds the old one and gives it back ("redefinition of",
# "no member" in the files behind it). No file here asks for the time, which precompiled headers need to be
# known again (ccache's manual, "Precompiled headers").
before=
case " $* " in
  *" c++-header "*)
    for word; do
      if [ "$before" = -o ]; then rm -f "$word"; fi
      before=$word
    done
    ;;
esac
CCACHE_SLOPPINESS=pch_defines,time_macros exec "$@"
