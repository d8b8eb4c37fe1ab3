package manager

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/cache"
)

// MutationError is the error of Run when the program has changed objects of a cache: see
// Options.DetectMutations. A program must change a copy: see kube.Clone.
type MutationError struct {
	Mutations []cache.Mutation // the first 100
}

func (e *MutationError) Error() string {
	var all []string
	for _, m := range e.Mutations[:min(3, len(e.Mutations))] {
		all = append(all, fmt.Sprintf("%s of informer %s", m, m.Informer))
	}
	if n := len(e.Mutations) - 3; n > 0 {
		all = append(all, fmt.Sprintf("and %d more", n))
	}
	return "manager: the program changed objects of a cache, which all readers share: " + strings.Join(all, ", ")
}

// maxMutations limits the mutations that are kept and logged.
const maxMutations = 100

// mutation notes and logs a mutation.
func (m *Manager) mutation(found cache.Mutation) {
	m.mu.Lock()
	known := slices.Contains(m.mutated, found) || len(m.mutated) == maxMutations
	if !known {
		m.mutated = append(m.mutated, found)
	}
	m.mu.Unlock()
	if !known {
		m.log.Error("the program changed an object of a cache", "informer", found.Informer, "key", found.Key.String(), "path", found.Path)
	}
}
