package replay

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// step is one change of an object.
type step struct {
	at       time.Duration
	stream   int
	rev      kube.Revision
	unseen   bool // a deletion that only a list, or a new object, shows: rev is the last that it may have
	resource kube.Resource
	key      kube.Key
	uid      string
	object   []byte // nil = deleted
	number   int64  // the revision to have; 0 = the next one
	rank     int64  // in the order of the changes
}

// inOrder sorts the changes that arrived within lag by their revisions. Those of one object in a
// stream stay in their order, whatever their revisions are, and so do all that were seen.
func inOrder(steps []step) []step {
	const lag = 5 * time.Second
	type object struct {
		stream int
		key    kube.Key
	}
	var (
		old     int                  // the steps before it arrived more than lag ago
		lowest  int64                // the highest rank of those
		last    = map[int]int64{}    // the highest rank of each stream
		changed = map[object]int64{} // the rank of the last change of each object
		taken   = revisions{}
	)
	for i := range steps {
		if steps[i].number = number(steps[i].rev); !steps[i].unseen {
			taken.add(steps[i].number)
		}
	}
	for i := range steps {
		st := &steps[i]
		for ; steps[old].at < st.at-lag; old++ {
			lowest = max(lowest, steps[old].rank)
		}
		where := object{st.stream, st.key}
		st.rank = max(st.number, lowest, last[st.stream])
		if st.unseen {
			if st.number = taken.free(st.number); st.number > max(lowest, changed[where]) {
				taken.add(st.number)
				st.rank = st.number
			} else {
				st.number = 0
			}
		}
		last[st.stream], changed[where] = max(last[st.stream], st.rank), st.rank
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.rank, b.rank) })
	return steps
}

// revisions are those of changes, each with a lower number from which one may be free.
type revisions map[int64]int64

func (r revisions) add(n int64) { r[n] = n - 1 }

// free returns the highest number up to n that is free; not above 0 = none is.
func (r revisions) free(n int64) int64 {
	free := n
	for lower, taken := r[free]; taken; lower, taken = r[free] {
		free = lower
	}
	for n != free { // the next search is shorter
		r[n], n = free, r[n]
	}
	return free
}

// once leaves out the changes that another stream of the resource has made. Events are in two
// groups.
func once(steps []step) (all []step) {
	made := map[string]*fold{}
	for _, st := range steps {
		name := st.resource.GroupResource()
		if name == "events.events.k8s.io" {
			name = kube.Events.GroupResource()
		}
		if made[name] == nil {
			made[name] = &fold{known: map[kube.Key]lastState{}}
		}
		all = append(all, made[name].change(st)...)
	}
	return all
}

// number returns a revision as a number; 0 = it is none.
func number(rev kube.Revision) int64 {
	n, err := strconv.ParseInt(string(rev), 10, 64) // etcd's are signed
	if err != nil {
		return 0
	}
	return max(0, n)
}
