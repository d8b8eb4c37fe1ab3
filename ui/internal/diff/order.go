package diff

import (
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/compare"
)

// found is a difference with what its place in the order depends on.
type found struct {
	Change
	parent *compare.Path // siblings have the same
	rank   int
	leaf   int
}

// order puts first what people look for: what was requested, then what the status reports,
// then numbers and labels, then what changes with each write. Differences of one rank that
// share a parent stay together, in the place of the first of them.
func order(list []found) []Change {
	type group struct {
		rank   int
		parent *compare.Path
	}
	first := map[group]int{}
	for i, f := range list {
		if g := (group{f.rank, f.parent}); first[g] == 0 {
			first[g] = i + 1
		}
	}
	slices.SortStableFunc(list, func(a, b found) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		if a.parent != b.parent {
			return first[group{a.rank, a.parent}] - first[group{b.rank, b.parent}]
		}
		return a.leaf - b.leaf
	})
	var changes []Change
	for _, f := range list {
		changes = append(changes, f.Change)
	}
	return changes
}

// The ranks of differences.
const (
	rankMain    = iota // deletion, images, replicas
	rankRequest        // the rest of spec, data
	rankReport         // conditions, reasons, states of containers
	rankDetail         // the rest of status, labels
	rankWrite          // generations, times, IDs
)

func rank(steps []*compare.Path) int {
	if len(steps) == 0 {
		return rankRequest
	}
	top, leaf := steps[0].Member, steps[len(steps)-1].Member
	second := ""
	if len(steps) > 1 {
		second = steps[1].Member
	}
	switch {
	case steps[len(steps)-1].Element == compare.Order && (top == "metadata" || top == "status"):
		return rankWrite // nobody reads these in their order
	case top == "metadata" && second == "deletionTimestamp":
		return rankMain
	case top == "metadata":
		kept := second == "labels" || second == "annotations" || second == "finalizers" || second == "ownerReferences"
		if !kept || leaf == "kubectl.kubernetes.io/last-applied-configuration" {
			return rankWrite
		}
		return rankDetail
	case top == "spec":
		if leaf == "image" || second == "replicas" {
			return rankMain
		}
		return rankRequest
	case isTime(leaf), leaf == "observedGeneration", leaf == "containerID", leaf == "imageID":
		return rankWrite
	case top != "status":
		return rankRequest
	case slices.Contains([]string{"phase", "reason", "message", "ready", "restartCount"}, leaf),
		slices.ContainsFunc(steps, func(p *compare.Path) bool { return p.Member == "conditions" || p.Member == "state" }):
		return rankReport
	}
	return rankDetail
}

// isTime is about a path, or the last member of one.
func isTime(path string) bool {
	return strings.HasSuffix(path, "Time") || strings.HasSuffix(path, "Timestamp") || strings.HasSuffix(path, "At")
}

// leafOrder puts the members of a condition in the order in which people read them.
func leafOrder(p *compare.Path) int {
	read := []string{"status", "reason", "message"}
	if p != nil {
		if i := slices.Index(read, p.Member); i >= 0 {
			return i
		}
	}
	return len(read)
}
