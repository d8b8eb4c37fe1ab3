package kube

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/internal/clip"
)

// Revision is a resourceVersion. It is opaque: store it, compare it for equality, and
// send it back to the same server, for the same resource. The empty Revision requests
// the current state, "0" any state.
//
// Since Kubernetes 1.35 (KEP-5504) the revisions of one resource are increasing decimal
// integers, so that they can be ordered by [Revision.Compare]. Aggregated API servers may
// use other forms: if Compare fails, the order is unknown.
type Revision string

// Compare returns -1, 0 or +1 if r is older than, equal to or newer than o. It fails
// unless both are canonical non-negative decimal integers, of any length.
func (r Revision) Compare(o Revision) (int, error) {
	for _, v := range [...]Revision{r, o} {
		if !v.Ordered() {
			return 0, fmt.Errorf("compare resource versions: %q is not a decimal integer", clip.Text(string(v), 40))
		}
	}
	if c := cmp.Compare(len(r), len(o)); c != 0 {
		return c, nil
	}
	return strings.Compare(string(r), string(o)), nil
}

// Newer reports whether r is known to be newer than o: false if they cannot be
// compared.
func (r Revision) Newer(o Revision) bool {
	if !r.Ordered() || !o.Ordered() {
		return false
	}
	c, _ := r.Compare(o)
	return c > 0
}

// Ordered reports whether r is a canonical decimal integer, and so can be compared:
// "0", or digits that do not begin with 0.
func (r Revision) Ordered() bool {
	if len(r) == 0 || len(r) > 1 && r[0] == '0' {
		return false
	}
	for i := range len(r) {
		if r[i] < '0' || r[i] > '9' {
			return false
		}
	}
	return true
}
