// Package refused counts the targets of a run that may not be read, and are skipped.
package refused

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/auth"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// Skippable reports whether err is about one type, and says nothing about the others.
func Skippable(err error, t target.Target) bool {
	return errors.Is(err, kube.ErrForbidden) || errors.Is(err, kube.ErrNotFound) || t.Cluster != "" && errors.Is(err, kube.ErrUnauthorized)
}

// Message says that t is skipped because of err; again says when it is asked for again, or
// is empty. It is shared by the types of '*', which may be many.
func Message(t target.Target, err error, again string) messages.Shared {
	text := "skipped" + t.Where() + ": "
	return messages.Shared{Level: slog.LevelWarn, Cluster: t.Cluster, Subject: t.Label(), Text: text + messages.Reason(err) + again, Kind: text + auth.Cause(err) + again, Named: true}
}

// Targets counts the targets that may not be read. It is safe for concurrent use.
type Targets struct {
	mu     sync.Mutex
	open   int // targets that are not refused
	labels []string
	first  error
}

// Follow notes that one more target is followed.
func (r *Targets) Follow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
}

// Refuse notes that a target was refused, and returns an error if no other is left.
func (r *Targets) Refuse(label string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	r.labels = append(r.labels, label)
	if r.first == nil {
		r.first = err
	}
	if r.open > 0 {
		return nil
	}
	return r.first
}

// Readmit notes that a target that was refused is asked for again.
func (r *Targets) Readmit(label string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	r.labels = slices.DeleteFunc(r.labels, func(l string) bool { return l == label })
}

// Missing is the error of a run that wants everything that was named.
func (r *Targets) Missing() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.labels) == 0 {
		return nil
	}
	return exit.Failed(fmt.Errorf("%s: %w", strings.Join(r.labels, ", "), r.first))
}
