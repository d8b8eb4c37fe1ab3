package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// merged is the union of several files. The first file that sets current-context, or an
// entry of a name, wins.
type merged struct {
	current  string
	contexts map[string]contextEntry
	clusters map[string]clusterEntry
	users    map[string]userEntry
	sources  []string
	warnings []string
}

// readAll reads and merges files. A missing file is skipped with a warning, unless must
// is set.
func readAll(files []string, must bool) (*merged, error) {
	m := &merged{
		contexts: make(map[string]contextEntry),
		clusters: make(map[string]clusterEntry),
		users:    make(map[string]userEntry),
	}
	for _, path := range files {
		k, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) && !must {
			m.warn("kubeconfig %s does not exist: skipped%s", path, hint(path))
			continue
		}
		if err == nil {
			err = k.absolute(path)
		}
		if err == nil {
			err = m.add(k, path)
		}
		if err != nil {
			return nil, fmt.Errorf("kubeconfig %w", err)
		}
	}
	return m, nil
}

func (m *merged) add(k *kubeconfig, path string) error {
	m.sources = append(m.sources, path)
	for _, note := range k.notes {
		m.warn("kubeconfig %s: %s", path, note)
	}
	k.look()
	if w := k.open.warning("kubeconfig", path); w != "" {
		m.warn("%s", w)
	}
	if m.current == "" {
		m.current = k.CurrentContext
	}
	var contexts, clusters, users = make(map[string]contextEntry), make(map[string]clusterEntry), make(map[string]userEntry)
	for _, e := range k.Contexts {
		if err := put(contexts, "contexts", e.Name, e.Context); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, e := range k.Clusters {
		if err := put(clusters, "clusters", e.Name, e.Cluster); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, e := range k.Users {
		if err := put(users, "users", e.Name, e.User); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	keepFirst(m.contexts, contexts)
	keepFirst(m.clusters, clusters)
	keepFirst(m.users, users)
	return nil
}

func (m *merged) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

// put adds an entry of one file, in which a name may occur once. As in kubectl, an entry
// without a name is used where no name is given.
func put[E any](to map[string]E, list, name string, e E) error {
	if _, ok := to[name]; ok {
		return fmt.Errorf("%s holds %s twice: remove one", list, quote(name))
	}
	to[name] = e
	return nil
}

func keepFirst[E any](to, from map[string]E) {
	for name, e := range from {
		if _, ok := to[name]; !ok {
			to[name] = e
		}
	}
}

// empty reports whether m configures nothing, as a missing file or /dev/null does.
func (m *merged) empty() bool {
	return m.current == "" && len(m.contexts) == 0 && len(m.clusters) == 0 && len(m.users) == 0
}

// where returns the names of the files of m, for errors.
func (m *merged) where() string { return strings.Join(m.sources, ", ") }

// names returns the sorted keys of m, at most 20, as one text.
func names[E any](m map[string]E) string {
	const most = 20
	var list []string
	all := named(m)
	for _, name := range all {
		if len(list) == most {
			list = append(list, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		if q := quote(name); q != `"`+name+`"` || strings.ContainsAny(name, " ,") {
			name = q
		}
		list = append(list, name)
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// named returns the sorted, non-empty keys of m.
func named[E any](m map[string]E) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool { return name == "" })
}

// Names returns the sorted names of all contexts, clusters and users in the files that
// Load would read, for shell completion. It does not check the entries. In a pod without
// a kubeconfig there are none.
func Names(o Options) (contexts, clusters, users []string, err error) {
	files, must := o.listed(), false
	switch {
	case o.Path != "":
		files, must = []string{o.Path}, true
	case o.getenv("KUBECONFIG") == "":
		files = o.homeFile()
	}
	m, err := readAll(files, must)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read names: %w", err)
	}
	return named(m.contexts), named(m.clusters), named(m.users), nil
}
