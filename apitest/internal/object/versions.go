package object

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareVersions orders versions by preference: v2 is above v1, above v2beta1, above
// v1alpha1, above others.
func CompareVersions(a, b string) int {
	x, y := versionOf(a), versionOf(b)
	return cmp.Or(cmp.Compare(x.stage, y.stage), cmp.Compare(x.major, y.major), cmp.Compare(x.minor, y.minor), cmp.Compare(b, a))
}

type versionParts struct{ stage, major, minor int }

func versionOf(s string) versionParts {
	rest, ok := strings.CutPrefix(s, "v")
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			ok = false
		}
		return n
	}
	v := versionParts{stage: 3}
	for stage, word := range []string{1: "alpha", 2: "beta"} {
		if before, after, found := strings.Cut(rest, word); found && word != "" {
			v.stage, rest, v.minor = stage, before, number(after)
		}
	}
	v.major = number(rest)
	if !ok {
		return versionParts{}
	}
	return v
}
