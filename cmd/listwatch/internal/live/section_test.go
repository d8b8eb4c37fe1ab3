package live

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
)

// counted returns a board, and what counts the rows whose cells it built.
func counted(o *print.Format) (*board, *int) {
	b, n := newBoard(o), 0
	cells := b.cellsOf
	b.cellsOf = func(r *record.Record) ([]any, error) {
		n++
		return cells(r)
	}
	return b, &n
}

// Of 50,000 rows only those on the screen are built.
func TestOnlyWhatIsSeenIsBuilt(t *testing.T) {
	const rows, height = 50_000, 24
	b, built := counted(&print.Format{Headers: true, Namespaces: true})
	first := podRecord(t, "ADDED", "pod", "Pending", 7, 0)
	for i := range rows {
		r := *first
		r.ID.Name = fmt.Sprintf("pod-%05d", i)
		b.apply(&r)
	}
	expect := func(when string, most int, do func()) {
		t.Helper()
		*built = 0
		do()
		if *built > most {
			t.Errorf("%s: %d rows are built, want at most %d", when, *built, most)
		}
	}
	draw := func() []string { return b.draw(80, height, boardStart.Add(time.Second)) }
	expect("the first drawing", height, func() {
		if b.work() {
			t.Error("rows by name are not in order at once")
		}
		if lines := draw(); !strings.Contains(lines[0], "50,000 objects") || !strings.Contains(lines[0], "lines 1 to 22 of 50001") {
			t.Error(lines[0])
		}
	})
	expect("the same again", 0, func() { draw() })
	expect("a page", height, func() { b.press("pgdown", ""); draw() })
	expect("the end", height, func() {
		b.press("G", "G")
		if lines := draw(); !strings.Contains(lines[0], "lines 49980 to 50001 of 50001") {
			t.Error(lines[0])
		}
	})
	change := func(name string) {
		r := *podRecord(t, "MODIFIED", name, "Running", 8, 1)
		b.apply(&r)
		b.work()
		draw()
	}
	expect("a change that is not seen", 0, func() { change("pod-00001") })
	expect("a change that is seen", 1, func() { change("pod-49999") })
}

// An order by a column needs the cells of all rows: it is made in steps.
func TestOrderByAColumnIsMadeInSteps(t *testing.T) {
	const rows, height = 5 * workRows, 24
	b, built := counted(&print.Format{Headers: true})
	for i := range rows {
		r := podRecord(t, "ADDED", fmt.Sprintf("pod-%05d", i), "Pending", rows-i, 0)
		b.apply(r)
	}
	b.work()
	draw := func() []string { return b.draw(80, height, boardStart) }
	draw()
	for range 3 {
		b.press("s", "s")
	}
	*built = 0
	if !b.work() || *built > workRows {
		t.Errorf("the first step builds %d rows", *built)
	}
	if lines := draw(); !strings.Contains(lines[0], "2,000 rows to look at") || !strings.Contains(lines[2], "pod-00000") || *built > workRows {
		t.Errorf("between the steps %d rows are built: %q", *built, lines[:3])
	}
	finish(b)
	if lines := draw(); *built > rows || !strings.Contains(lines[1], "RESTARTS^") || !strings.Contains(lines[2], "pod-02499") {
		t.Errorf("%d rows are built: %q", *built, lines[:3])
	}
	*built = 0
	b.apply(podRecord(t, "MODIFIED", "pod-01000", "Pending", 0, 1))
	finish(b)
	if lines := draw(); *built > 1 || !strings.Contains(lines[2], "pod-01000") {
		t.Errorf("a row that moves: %d rows are built: %q", *built, lines[:3])
	}
}

var shownRow = regexp.MustCompile(`shop +(p\d+) +(\w+) +(\d+) `)

// After any events and keys the rows are those that a full sort of all objects gives.
func TestRowsAreThoseOfAFullSort(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		b := newBoard(&print.Format{Headers: true, Namespaces: true})
		b.pace = 3
		type state struct {
			restarts int
			phase    string
			deleted  time.Time
		}
		known := map[string]state{}
		now, name, phase := 0, "", ""
		for step := range 200 {
			switch pod := fmt.Sprint("p", rnd.IntN(25)); rnd.IntN(12) {
			case 0:
				b.press("s", "s")
			case 1:
				b.press("r", "r")
			case 2:
				text := ""
				switch name, phase = "", ""; rnd.IntN(3) {
				case 0:
					text, name = "p1", "p1"
				case 1:
					text, phase = `.status.phase == "Running"`, "Running"
				}
				q, problem := parseQuery(text)
				if problem != "" {
					t.Fatal(problem)
				}
				b.filter(q)
			case 3:
				now += rnd.IntN(12)
			case 4:
				b.work()
			case 5, 6:
				if s, ok := known[pod]; ok && s.deleted.IsZero() {
					s.deleted = boardStart.Add(time.Duration(now) * time.Second)
					b.apply(podRecord(t, "DELETED", pod, s.phase, s.restarts, now))
					known[pod] = s
				}
			default:
				s, ok := known[pod]
				kind := map[bool]string{true: "MODIFIED", false: "ADDED"}[ok && s.deleted.IsZero()]
				s = state{rnd.IntN(12), []string{"Running", "Pending"}[rnd.IntN(2)], time.Time{}}
				known[pod] = s
				b.apply(podRecord(t, kind, pod, s.phase, s.restarts, now))
			}
			if rnd.IntN(4) > 0 {
				continue
			}
			at := boardStart.Add(time.Duration(now) * time.Second)
			b.draw(80, 100, at) // rows of deleted objects leave
			var got []string
			for _, f := range shownRow.FindAllStringSubmatch(strings.Join(finish(b).draw(80, 100, at), "\n"), -1) {
				got = append(got, strings.Join(f[1:], " "))
			}
			if diff := gocmp.Diff(func() (want []string) {
				var names []string
				objects := 0
				for pod, s := range known {
					if !s.deleted.IsZero() && at.Sub(s.deleted) >= leaveAfter {
						delete(known, pod)
						continue
					}
					if s.deleted.IsZero() {
						objects++
					}
					if strings.Contains(pod, name) && strings.Contains(s.phase, phase) {
						names = append(names, pod)
					}
				}
				if objects != b.objects {
					t.Errorf("%d objects, want %d", b.objects, objects)
				}
				slices.SortFunc(names, func(x, y string) int {
					order := 0
					switch a, c := known[x], known[y]; b.sort {
					case 3:
						order = strings.Compare(a.phase, c.phase)
					case 4:
						order = cmp.Compare(a.restarts, c.restarts)
					}
					if order = cmp.Or(order, strings.Compare(x, y)); b.reverse {
						return -order
					}
					return order
				})
				for _, name := range names {
					want = append(want, fmt.Sprint(name, " ", known[name].phase, " ", known[name].restarts))
				}
				return want
			}(), got); diff != "" {
				t.Fatalf("seed %d, step %d, sorted by %d, reverse %v, filter %q %q (-want +got):\n%s\n%s", seed, step, b.sort, b.reverse, name, phase, diff, strings.TrimSpace(strings.Join(b.draw(80, 40, at), "\n")))
			}
		}
	}
}
