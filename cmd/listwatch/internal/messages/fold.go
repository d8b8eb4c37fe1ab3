package messages

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
)

// Of one kind of message, those of the first moment are written together. While the kind
// repeats, that time doubles.
const (
	foldFor     = time.Second
	foldForMost = time.Minute
)

// Folder writes the messages that several watches have for one reason, such as a lost
// connection, as one line. In a log in JSON each watch has its line. It is safe for
// concurrent use.
type Folder struct {
	writer *Writer

	mu      sync.Mutex
	watches int
	groups  []*group        // that wait, in their order
	paces   map[string]pace // by cluster and kind
}

// Shared is a message of one watch that others may have, too.
type Shared struct {
	Level   slog.Level
	Cluster string // of the watch; empty = there is one
	Subject string // as in [Writer.Say], with the cluster
	Text    string // of this watch alone

	Kind    string               // messages of one kind and cluster are one line
	Named   bool                 // the line names all subjects, however many
	Numbers []int                // what Common needs to know of this message
	Common  func([][]int) string // the text for several, from the Numbers of each; nil = Kind
}

// pace is how long messages of a kind wait for others.
type pace struct {
	wait  time.Duration
	until time.Time
}

// group is the messages that will be one line.
type group struct {
	Shared   // the last one
	subjects []string
	numbers  [][]int
}

// NewFolder returns a Folder that writes to t.
func NewFolder(t *Writer) *Folder { return &Folder{writer: t, paces: map[string]pace{}} }

// Join notes that one more watch has its messages written by f. Those of a single watch
// do not wait for others. It returns f.
func (f *Folder) Join() *Folder {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watches++
	return f
}

// Say writes s, alone or together with others of its kind that follow soon. What waits is
// written in its order, and by Flush. For a log in JSON, message and attrs are as in
// [Writer.Say].
func (f *Folder) Say(s Shared, message string, attrs ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watches < 2 || f.writer.Quiet || f.writer.Log != nil {
		f.writer.Say(s.Level, s.Subject, s.Text, message, attrs...)
		return
	}
	last, later := -1, false // the last group of this kind; whether a group after it names this watch
	for i, g := range f.groups {
		if g.Kind == s.Kind && g.Cluster == s.Cluster {
			last, later = i, false
		} else {
			later = later || slices.Contains(g.subjects, s.Subject)
		}
	}
	if last < 0 {
		time.AfterFunc(f.wait(s.Cluster+"\n"+s.Kind), f.Flush)
	}
	if last < 0 || later { // the messages of a watch stay in their order
		last = len(f.groups)
		f.groups = append(f.groups, &group{})
	}
	g := f.groups[last]
	g.Shared, g.numbers = s, append(g.numbers, s.Numbers)
	if !slices.Contains(g.subjects, s.Subject) {
		g.subjects = append(g.subjects, s.Subject)
	}
}

// Alone writes a message that no other watch shares, behind those of its watch that wait.
func (f *Folder) Alone(level slog.Level, subject, text, message string, attrs ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.groups, func(g *group) bool { return slices.Contains(g.subjects, subject) }) {
		f.flush()
	}
	f.writer.Say(level, subject, text, message, attrs...)
}

// wait returns how long a first message of a kind waits for others. The caller holds mu.
func (f *Folder) wait(kind string) time.Duration {
	now := time.Now()
	p := f.paces[kind]
	if now.Before(p.until) {
		p.wait = min(2*p.wait, foldForMost)
	} else {
		p.wait = foldFor
	}
	p.until = now.Add(3 * p.wait)
	f.paces[kind] = p
	return p.wait
}

// Flush writes all that waits.
func (f *Folder) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
}

// flush is Flush. The caller holds mu.
func (f *Folder) flush() {
	for _, g := range f.groups {
		subject, text := g.Subject, g.Text
		if len(g.subjects) > 1 {
			subject, text = subjects(g.Cluster, g.subjects), g.Kind
		}
		if len(g.numbers) > 1 && g.Common != nil {
			text = g.Common(g.numbers)
		}
		if names := named(g.Cluster, g.subjects); g.Named && len(names) > fewSubjects {
			text += " (" + strings.Join(names, ", ") + ")"
		}
		f.writer.Say(g.Level, subject, text, g.Kind)
	}
	f.groups = nil
}

const fewSubjects = 3

// subjects names all, or counts them where they are many.
func subjects(cluster string, all []string) string {
	names := named(cluster, all)
	if cluster != "" {
		cluster += ": "
	}
	if len(names) <= fewSubjects {
		return cluster + strings.Join(names, ", ")
	}
	what := "type"
	for _, name := range names {
		if strings.ContainsAny(name, "/ ") { // an object, or a type in a namespace
			what = "collection"
		}
	}
	return cluster + printable.Count(len(names), what)
}

// named returns subjects without their cluster, in order.
func named(cluster string, all []string) []string {
	var names []string
	for _, s := range slices.Sorted(slices.Values(all)) {
		if cluster != "" {
			s = strings.TrimPrefix(s, cluster+": ")
		}
		names = append(names, s)
	}
	return names
}
