# What all bats files share: `load lib` in setup.

bats_load_library bats-support
bats_load_library bats-assert

: "${B:=$BATS_TEST_DIRNAME/../build}"
PATH=$(realpath -m "$B")/bin:$PATH
export B PATH
unset PROTO
fixtures=$BATS_TEST_DIRNAME/fixtures
