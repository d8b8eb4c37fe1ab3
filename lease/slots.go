package lease

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// slots is how many parts a Ring has: a slot is the top 8 bits of kube.HashUID.
const slots = 256

// SlotOf returns the slot, 0 to 255, of the object with the UID; see [Ring].
func SlotOf(uid string) int { return int(kube.HashUID(uid) >> 56) }

// Share is the set of slots that a member of a [Ring] owns. The zero Share is empty.
type Share struct {
	tokens [slots]Token // zero = not owned
}

// Has reports whether the share contains the slot of the object with the UID.
func (s Share) Has(uid string) bool { return s.HasSlot(SlotOf(uid)) }

// HasSlot reports whether the share contains slot.
func (s Share) HasSlot(slot int) bool { return s.tokens[slot] != Token{} }

// Token returns the fencing token of the slot of the object with the UID. Each later owner of
// the slot has a token with a larger Revision. The token is zero if the share does not contain
// the slot.
func (s Share) Token(uid string) Token { return s.tokens[SlotOf(uid)] }

// TokenOf is [Share.Token] by the number of the slot.
func (s Share) TokenOf(slot int) Token { return s.tokens[slot] }

// Len returns the number of slots in the share.
func (s Share) Len() (n int) {
	for slot := range slots {
		if s.HasSlot(slot) {
			n++
		}
	}
	return n
}

// of reports whether the table assigns all slots of s to the member.
func (s Share) of(member string, owners table) bool {
	for slot := range slots {
		if s.HasSlot(slot) && owners[slot] != member {
			return false
		}
	}
	return true
}

// Shard returns a selection of the objects in the slots, for watch.Options and list.Options.
// It fails for the empty Share, because the zero Shard selects all objects.
func (s Share) Shard() (kube.Shard, error) {
	var ranges []kube.HashRange
	for slot := range slots {
		if s.HasSlot(slot) {
			first := uint64(slot) << 56
			ranges = append(ranges, kube.HashRange{First: first, Last: first | math.MaxUint64>>8})
		}
	}
	return kube.NewShard(ranges...)
}

// table holds the name of the member that owns each slot; "" = none.
type table [slots]string

// String returns the table in the form of the annotation: "0-85 a,86-170 b".
func (t table) String() string {
	var runs []string
	for from := 0; from < slots; {
		to := from
		for to+1 < slots && t[to+1] == t[from] {
			to++
		}
		if t[from] != "" {
			runs = append(runs, fmt.Sprintf("%d-%d %s", from, to, t[from]))
		}
		from = to + 1
	}
	return strings.Join(runs, ",")
}

// parseTable is the inverse of String.
func parseTable(s string) (t table, err error) {
	if s == "" {
		return t, nil
	}
	for run := range strings.SplitSeq(s, ",") {
		bounds, name, ok := strings.Cut(run, " ")
		first, last, _ := strings.Cut(bounds, "-")
		from, errFrom := strconv.Atoi(first)
		to, errTo := strconv.Atoi(last)
		if !ok || name == "" || len(name) > 253 || errFrom != nil || errTo != nil || from < 0 || from > to || to >= slots {
			return table{}, fmt.Errorf("the slots of the ring are not written as FIRST-LAST MEMBER: %.100q", run)
		}
		for slot := from; slot <= to; slot++ {
			if t[slot] != "" {
				return table{}, fmt.Errorf("slot %d of the ring has two owners", slot)
			}
			t[slot] = name
		}
	}
	return t, nil
}

// planned assigns each slot to one of members: each gets the same number of slots, plus or
// minus one, as few slots as possible change their owner, and runs of slots are long. The
// result depends only on the table and the set of members, so that all members plan the same.
func (t table) planned(members []string) table {
	members = slices.Sorted(slices.Values(members))
	has := make(map[string][]int)
	for slot, name := range t {
		if slices.Contains(members, name) {
			has[name] = append(has[name], slot)
		}
	}
	if len(members) == 0 {
		return table{}
	}
	byMost := slices.Clone(members)
	slices.SortStableFunc(byMost, func(a, b string) int { return cmp.Compare(len(has[b]), len(has[a])) })
	quota := make(map[string]int)
	for i, name := range byMost {
		quota[name] = slots / len(members)
		if i < slots%len(members) {
			quota[name]++
		}
	}
	var plan table
	for name, owned := range has { // keep the first slots of each member up to its quota
		for _, slot := range owned[:min(len(owned), quota[name])] {
			plan[slot] = name
			quota[name]--
		}
	}
	maps.DeleteFunc(quota, func(_ string, n int) bool { return n == 0 })
	for slot := range slots { // prefer the owner of the slot before, else the member with the largest open quota
		if plan[slot] != "" {
			continue
		}
		name := ""
		if slot > 0 {
			name = plan[slot-1]
		}
		if quota[name] == 0 {
			for _, m := range members {
				if quota[m] > quota[name] {
					name = m
				}
			}
		}
		plan[slot] = name
		if quota[name]--; quota[name] == 0 {
			delete(quota, name)
		}
	}
	return plan
}
