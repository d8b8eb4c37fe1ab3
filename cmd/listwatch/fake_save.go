package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
)

// saver keeps the state of a server in a file. A nil saver saves nothing.
type saver struct {
	path     string
	srv      *apitest.Server
	restored int // objects that were in the file

	release func()        // lets other processes have the file; nil where they are not kept off
	wrote   kube.Revision // of what is in the file
	err     error         // of the last time
}

// saveEvery is how often the file is brought up to date, if anything changed.
const saveEvery = 5 * time.Second

// lock keeps other processes off the file, of which the last would win: it would undo
// what the others have saved. Where there are no locks, or no folder yet, it does
// nothing.
func (s *saver) lock() error {
	release, err := disk.Lock(s.path + ".lock")
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		return &failure{exitUsage, fmt.Errorf("--save: another server keeps %s: %w; stop it, or give another file", s.path, err)}
	}
	s.release = release
	return nil
}

func (s *saver) unlock() {
	if s != nil && s.release != nil {
		s.release()
	}
}

// load returns the state that is in the file, nil where there is no file.
func (s *saver) load() ([]byte, error) {
	if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	b, err := manifest.ReadText(s.path, nil)
	if err != nil {
		return nil, &failure{exitUsage, fmt.Errorf("--save: %w", err)}
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(b, &list) == nil && list.Kind == "List" {
		s.restored = len(list.Items)
		return b, nil
	}
	all, err := manifest.Parse(s.path, b) // somebody else has written it
	if err != nil {
		return nil, s.unusable(err)
	}
	items := []any{}
	for _, m := range all {
		items = append(items, m.Value)
	}
	s.restored = len(items)
	return json.Marshal(map[string]any{"kind": "List", "items": items})
}

// unusable is the error of a file whose content the server cannot start with.
func (s *saver) unusable(err error) error {
	return &failure{exitUsage, fmt.Errorf("--save: %w; give another file, or mend this one", err)}
}

// prepare takes over the server, and saves it before a client can see it: if the
// process is killed, the next one knows what this one may have given out.
func (s *saver) prepare(srv *apitest.Server) error {
	s.srv = srv
	return s.save()
}

// run saves until ctx is done, and returns its cause.
func (s *saver) run(ctx context.Context, t *talk) error {
	if s == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.srv.Revision() == s.wrote {
				continue
			}
			before := s.err
			s.err = s.save()
			if s.err != nil && before == nil {
				t.warn("fake", s.err.Error()+"; it is tried again", "not saved", "err", s.err.Error())
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// last saves what a server that is closed has left.
func (s *saver) last() error {
	if s == nil {
		return nil
	}
	if err := s.save(); err != nil {
		return failed(err)
	}
	return nil
}

func (s *saver) save() error {
	var b bytes.Buffer
	rev, err := s.srv.Save(&b)
	if err == nil {
		err = replaceFile(s.path, b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	s.wrote = rev
	return nil
}
