package wire

import (
	"github.com/listwatch/listwatch/apitest/internal/causes"
	"github.com/listwatch/listwatch/kube"
)

// brief is up to how many bytes of texts a Status needs no place among the responses that are
// being sent, and cut is what is sent of each text of a larger one that has none.
const brief, cut = 4 << 10, 512

// Within returns st if it is brief or place finds room for its bytes; else the beginning of its
// texts, without causes.
func Within(st *kube.Status, place func(size int64) bool) *kube.Status {
	d := st.Details
	if d == nil {
		d = &kube.StatusDetails{}
	}
	size := len(st.Message) + len(st.Reason) + len(d.Name) + len(d.Group) + len(d.Kind) + len(d.UID)
	for _, c := range d.Causes {
		size += len(c.Reason) + len(c.Message) + len(c.Field)
	}
	if size <= brief || place(int64(size)) {
		return st
	}
	short, few := *st, *d
	few.Causes = nil
	for _, text := range []*string{&short.Message, &short.Reason, &few.Name, &few.Group, &few.Kind, &few.UID} {
		*text = causes.Cut(*text, cut)
	}
	if st.Details != nil {
		short.Details = &few
	}
	return &short
}
