package past

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/replay"
)

// Source says where moments are read from.
type Source struct {
	history, recording string
}

// Register adds the flags.
func (s *Source) Register(f *pflag.FlagSet) {
	f.StringVar(&s.history, "history", "", "read the past from this folder of listwatch ui --history, not from a cluster")
	f.StringVar(&s.recording, "recording", "", "read the past from this file of listwatch record, not from a cluster")
}

// read returns the moment at.
func (s *Source) read(ctx context.Context, at time.Time) (*moment, error) {
	switch {
	case s.history == "" && s.recording == "":
		return nil, exit.Usage("a moment of the past is in a folder of --history or a file of --recording: give one of the two")
	case s.history != "" && s.recording != "":
		return nil, exit.Usage("--history and --recording are two places to read from: give one")
	case s.recording != "":
		m, err := readRecording(s.recording, at)
		if err == nil {
			return m, nil
		}
		err = fmt.Errorf("--recording: %w", err)
		if errors.Is(err, replay.ErrVersion) || errors.Is(err, fs.ErrNotExist) {
			return nil, &exit.Error{Code: exit.CodeUsage, Err: err}
		}
		return nil, exit.Failed(err)
	}
	m, err := read(ctx, s.history, at)
	if err != nil {
		return nil, exit.Failed(fmt.Errorf("--history: %w", err))
	}
	return m, nil
}

// maxRecorded limits the bytes of the objects of a recorded moment.
const maxRecorded = 1 << 30

// readRecording returns the moment at of a recording.
func readRecording(path string, at time.Time) (*moment, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := replay.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	base := r.Header.TimeBase
	found, err := r.At(at.Sub(base), maxRecorded)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case at.Before(base):
		return nil, fmt.Errorf("%s begins at %s, after %s", path, base.UTC().Format(time.RFC3339Nano), at.UTC().Format(time.RFC3339Nano))
	}
	m := &moment{at: at.UnixMilli(), types: map[string]*known{}, recorded: true, replaced: r.Header.Redaction.Secrets}
	if r.Truncated() {
		m.notes = append(m.notes, "the recording was cut: it is read as far as it goes")
	}
	revisions := map[string]replay.StateObject{}
	for _, s := range found.Streams {
		if !s.Synced {
			m.unknown = append(m.unknown, s.Target.Resource)
			continue
		}
		id := s.Target.Resource.GroupResource()
		k := m.types[id]
		if k == nil {
			k = &known{resource: s.Target.Resource, states: map[string]compressed.Raw{}}
			m.types[id] = k
		}
		if k.resource != s.Target.Resource {
			return nil, fmt.Errorf("%s has %s and %s, and one version of a type can be shown", path, k.resource, s.Target.Resource)
		}
		k.streams = append(k.streams, s.Target)
		if until := base.Add(s.Until).UnixMilli(); s.Gap != "" && (k.why == "" || until < k.until) {
			k.why, k.until = s.Gap, until
		}
		for _, o := range s.Objects {
			name := o.Key.String()
			if old, ok := revisions[id+" "+name]; ok && !o.Revision.Newer(old.Revision) {
				continue // another stream has a later state
			}
			revisions[id+" "+name] = replay.StateObject{Revision: o.Revision}
			raw, err := codec.ParseRawFull(o.JSON)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, id, err)
			}
			if k.states[name], err = k.pack.Compress(compressed.Of(raw.Raw)); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// narrow returns what of the objects in namespace was followed, "" = in all namespaces;
// empty = all of them. It reports whether none were.
func (k *known) narrow(namespace string) (part string, none bool) {
	var parts []string
	for _, s := range k.streams {
		if s.Namespace != "" && namespace != "" && s.Namespace != namespace {
			continue
		}
		if (s.Namespace == "" || s.Namespace == namespace) && s.Labels == "" && s.Fields == "" {
			return "", false
		}
		text := "namespace " + s.Namespace
		if s.Namespace == "" {
			text = "read all namespaces"
		}
		for _, selector := range []string{s.Labels, s.Fields} {
			if selector != "" {
				text += " with " + selector
			}
		}
		parts = append(parts, printable.Line(text))
	}
	return strings.Join(parts, ", "), parts == nil && k.streams != nil
}
