package persist

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

type gauge struct {
	kube.Meta `json:"metadata"`
	Value     float64 `json:"value"`
}

// journalAt returns a journal that nothing was read from or written to.
func journalAt(t *testing.T, path string) *Journal[gauge] {
	t.Helper()
	identity := Identity{Cluster: "c1", Resource: kube.Resource{Group: "example.com", Version: "v1", Plural: "gauges"}}
	j := NewJournal[gauge](path, identity)
	var err error
	if j.Header, err = NewHeader[gauge](identity); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestJournalThatIsDamagedStaysIfItsRecordsCannotBeCopied: the next start needs them.
func TestJournalThatIsDamagedStaysIfItsRecordsCannotBeCopied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gauges")
	journal := func() *Journal[gauge] { return journalAt(t, path) }
	names := func(records []Record[gauge]) (names []string) {
		for _, r := range records {
			names = append(names, r.Key.Name)
		}
		return names
	}
	for n, pair := range [][]string{{"a", "b"}, {"c", "d"}} {
		j := journal()
		j.Number = n + 1
		for _, name := range pair {
			if err := j.Write([]Record[gauge]{{Key: kube.Key{Name: name}, Object: gauge{Meta: kube.Meta{Name: name}}}}); err != nil {
				t.Fatal(err)
			}
		}
		j.End()
		file := j.name(j.Number)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-20] ^= 1
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asNone := func(b []byte) (gauge, error) { // JSON has no such number, so it cannot be written
		g, err := codec.Decode[gauge](b)
		g.Value = math.NaN()
		return g, err
	}
	for _, start := range []struct {
		decode func([]byte) (gauge, error)
		aside  bool
		errs   int
	}{{asNone, false, 3}, {codec.Decode[gauge], true, 2}, {codec.Decode[gauge], false, 0}} {
		j := journal()
		records, _, errs := j.Read(0, start.decode)
		j.End()
		if diff := cmp.Diff([]string{"a", "c"}, names(records)); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		moved := slices.ContainsFunc(errs, func(err error) bool {
			bad := (*Error)(nil)
			return errors.As(err, &bad) && bad.Aside != ""
		})
		if len(errs) != start.errs || moved != start.aside {
			t.Errorf("moved %t, %q", moved, errs)
		}
	}
}

// TestJournalOfALostHistoryThatIsDamaged: what replaces the file says so too.
func TestJournalOfALostHistoryThatIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gauges")
	journal := func() *Journal[gauge] { return journalAt(t, path) }
	j := journal()
	for range 3 { // of which one file comes
		if err := j.Lose(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Write([]Record[gauge]{{Key: kube.Key{Name: "a"}, Object: gauge{Meta: kube.Meta{Name: "a"}}}}); err != nil {
		t.Fatal(err)
	}
	j.End()
	files := j.files()
	b, err := os.ReadFile(files[0].name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-20] ^= 1 // the record, not the header
	if err := os.WriteFile(files[0].name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, errs := range []int{1, 0} {
		j := journal()
		_, lost, got := j.Read(0, codec.Decode[gauge])
		j.End()
		if !lost || len(got) != errs || len(j.files()) != 1 {
			t.Errorf("lost %t, %q, %d files", lost, got, len(j.files()))
		}
	}
	j.Rotate()()
	if _, lost, _ := j.Read(0, codec.Decode[gauge]); lost {
		t.Error("lost after the next snapshot")
	}
}

// TestJournalWithAPendingLoss: what Lose cannot write comes with the next Write, unless a snapshot
// of the new history was saved before.
func TestJournalWithAPendingLoss(t *testing.T) {
	tests := map[string]struct {
		acts func(j *Journal[gauge], lose func())
		lost bool
	}{
		"it is written later": {func(j *Journal[gauge], lose func()) { lose() }, true},
		"a snapshot fails":    {func(j *Journal[gauge], lose func()) { lose(); j.Rotate() }, true},
		"a snapshot is saved": {func(j *Journal[gauge], lose func()) { lose(); j.Rotate()() }, false},
		"a loss amid the saving of a snapshot": {func(j *Journal[gauge], lose func()) {
			lose()
			drop := j.Rotate()
			lose()
			drop()
		}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gauges")
			journal := func() *Journal[gauge] { return journalAt(t, path) }
			j := journal()
			tt.acts(j, func() {
				if err := os.Mkdir(j.name(j.Number), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := j.Lose(); err == nil {
					t.Fatal("it was written")
				}
				if err := os.Remove(j.name(j.Number)); err != nil {
					t.Fatal(err)
				}
			})
			for range 3 {
				if err := j.Write(nil); err != nil {
					t.Error(err)
				}
			}
			first := j.Number
			if files := j.files(); len(files) > 1 {
				t.Errorf("files: %v", files)
			}
			j.End()
			if _, lost, errs := journal().Read(first, codec.Decode[gauge]); lost != tt.lost || errs != nil {
				t.Errorf("lost: %t, %q", lost, errs)
			}
		})
	}
}

// TestJournalWhoseHeaderIsDamaged: no bit of it makes the records vanish without a report.
// A header that was cut is that of a process that died while it wrote it.
func TestJournalWhoseHeaderIsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gauges")
	j := journalAt(t, path)
	if err := j.Write([]Record[gauge]{{Key: kube.Key{Name: "a"}, Object: gauge{Meta: kube.Meta{Name: "a"}}}}); err != nil {
		t.Fatal(err)
	}
	j.End()
	file := j.name(1)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const prefix = len(journalMagic) + len("1\n")
	read := func(b []byte) (int, error) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		records, _, err := j.readFile(file, func(b []byte) (gauge, error) { return codec.Decode[gauge](b) })
		return len(records), err
	}
	size := int(binary.LittleEndian.Uint32(whole[prefix:]))
	for bit := range 8 * (prefix + 4 + size + 4) {
		b := slices.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		if n, err := read(b); err == nil {
			t.Errorf("bit %d of byte %d: %d records, and no error", bit%8, bit/8, n)
		}
	}
	for n := range prefix + 4 + size + 4 {
		if _, err := read(whole[:n]); err != nil {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
}
