package served

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/disk"
)

// A file is a line of JSON, a head, and the two documents behind it. Its modification
// time is when the server described it or confirmed it last.

const (
	version  = 1
	maxLine  = 4 << 10
	maxFile  = 33 << 20 // bytes: two documents of 16 MiB and the line
	maxFiles = 100      // of one folder: the oldest are removed
)

type head struct {
	Version int
	Sum     string // SHA-256 of the bytes behind the line
	Core    part
	Groups  part
}

type part struct {
	ETag        string
	ContentType string
	Bytes       int
}

// readFile reads the file at path, and when the server confirmed it last.
func readFile(path string) (discovery.Known, time.Time, error) {
	none := discovery.Known{}
	info, err := os.Lstat(path)
	if err != nil {
		return none, time.Time{}, err
	}
	if !info.Mode().IsRegular() {
		return none, time.Time{}, errDamaged
	}
	b, err := disk.ReadFile(path, maxFile)
	if err != nil {
		return none, time.Time{}, err
	}
	first, rest, ok := bytes.Cut(b, []byte("\n"))
	var h head
	if !ok || len(first) > maxLine || json.Unmarshal(first, &h) != nil || h.Version != version ||
		h.Core.Bytes < 0 || h.Groups.Bytes < 0 || h.Core.Bytes > len(rest) || h.Groups.Bytes != len(rest)-h.Core.Bytes ||
		h.Sum != sum(rest) {
		return none, time.Time{}, errDamaged
	}
	return discovery.Known{
		Core:   discovery.Document{ETag: h.Core.ETag, ContentType: h.Core.ContentType, Body: rest[:h.Core.Bytes]},
		Groups: discovery.Document{ETag: h.Groups.ETag, ContentType: h.Groups.ContentType, Body: rest[h.Core.Bytes:]},
	}, info.ModTime(), nil
}

func sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// confirm notes that the server has confirmed the file at the time at.
func confirm(path string, at time.Time) error { return os.Chtimes(path, at, at) }

// writeFile replaces the file at path as a whole. Only its owner can read it.
func writeFile(path string, k *discovery.Known, at time.Time) (err error) {
	if !line(k.Core.ETag) || !line(k.Groups.ETag) || !line(k.Core.ContentType) || !line(k.Groups.ContentType) {
		return errDamaged
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	body := slices.Concat(k.Core.Body, k.Groups.Body)
	first, err := json.Marshal(head{version, sum(body),
		part{k.Core.ETag, k.Core.ContentType, len(k.Core.Body)}, part{k.Groups.ETag, k.Groups.ContentType, len(k.Groups.Body)}})
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".tmp-*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(slices.Concat(first, []byte("\n"), body))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := confirm(f.Name(), at); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil { // without a sync: a file that is lost is fetched again, and the sum finds a torn one
		return err
	}
	return tidy(dir)
}

// tidy removes the oldest files of dir where there are too many.
func tidy(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxFiles {
		return err
	}
	type file struct {
		name string
		at   time.Time
	}
	var files []*file // sorted as others are: the program has that code
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, &file{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b *file) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name)) })
	for _, f := range files[min(len(files), maxFiles):] {
		err = errors.Join(err, os.Remove(filepath.Join(dir, f.name)))
	}
	return err
}
