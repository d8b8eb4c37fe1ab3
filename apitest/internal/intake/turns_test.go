package intake_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/intake"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/internal/protojson"
)

// TestTurnsAreServedInOrder: a large one that waits is not passed by smaller ones. Light
// requests wait for none, and a request has one turn, whose size grows only at once.
func TestTurnsAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 4 << 20
		of := intake.NewTurns(most)
		began := time.Now()
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		for i, size := range []int{3 << 20, 9 << 20, 1 << 20, 1 << 20, most} {
			all.Go(func() {
				var turn intake.Turn
				if st := turn.Take(of, t.Context(), size); st != nil {
					t.Errorf("%d: HTTP %d", i, st.Code)
				}
				mu.Lock()
				got = append(got, fmt.Sprintf("%d after %v", i, time.Since(began)))
				mu.Unlock()
				time.Sleep(time.Second)
				turn.Release()
				turn.Release()
			})
			synctest.Wait()
		}
		var light intake.Turn
		if st := light.Take(of, t.Context(), intake.Light); st != nil || time.Since(began) > 0 {
			t.Errorf("a light request waits %v: %v", time.Since(began), st)
		}
		all.Wait()
		slices.Sort(got) // two have their turns at the same time
		if diff := cmp.Diff([]string{"0 after 0s", "1 after 1s", "2 after 2s", "3 after 2s", "4 after 3s"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, _, left := of.Least(); left != 0 {
			t.Errorf("%d bytes were always left", left)
		}
		var grows, other intake.Turn
		for _, size := range []int{1 << 20, 1 << 10, 2 << 20} {
			if st := grows.Take(of, t.Context(), size); st != nil {
				t.Errorf("%d bytes: HTTP %d", size, st.Code)
			}
		}
		if st := other.Take(of, t.Context(), 2<<20); st != nil {
			t.Errorf("a turn grew by too much: HTTP %d", st.Code)
		}
		if st := grows.Take(of, t.Context(), 3<<20); st == nil || st.Code != http.StatusTooManyRequests {
			t.Errorf("a turn grows beyond what is left: %v", st)
		}
	})
}

// TestLightRequestsTakeTurns: light requests have a limit together, in the order of arrival; a
// body that is converted weighs more. They, heavy ones and tiny ones do not wait for each other.
func TestLightRequestsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := intake.NewTurns(4 << 20)
		began := time.Now()
		take := func(what, typ string, body, stored int, wait time.Duration) *intake.Turn {
			turn := new(intake.Turn)
			turn.Weigh(typ, bytes.Repeat([]byte(" "), body))
			at := time.Now()
			if st := turn.Take(of, t.Context(), stored); st != nil || time.Since(at) != wait {
				t.Errorf("%s waits %v: %v", what, time.Since(at), st)
			}
			return turn
		}
		var turns []*intake.Turn
		for range 8 { // 24 weigh 1.5 MiB, and two that are converted 512 KiB
			turns = append(turns, take("one in JSON", wire.TypeJSON, 60<<10, 4<<10, 0), take("a short one", wire.TypeMerge, 1<<10, 1, 0), take("one", wire.TypeJSON, 64<<10, 0, 0))
		}
		for _, typ := range []string{wire.TypeYAML, wire.TypeApply} {
			turns = append(turns, take("one in "+typ, typ, 64<<10, 0, 0))
		}
		if _, left, _ := of.Least(); left != 0 {
			t.Errorf("%d bytes are left to light requests", left)
		}
		heavy := take("a heavy one", wire.TypeJSON, 4<<20, 0, 0)
		take("a tiny one", wire.TypeJSON, 1<<10, 0, 0).Release()
		var all sync.WaitGroup
		for i, wait := range []time.Duration{1, 2, 2} { // the second needs four turns, and the third does not pass it
			all.Go(func() {
				size, typ := 64<<10, wire.TypeJSON
				if i == 1 {
					typ = wire.TypeYAML
				}
				take(fmt.Sprintf("a light one, %d,", i), typ, size, 0, wait*time.Second)
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		for _, turn := range turns[:2] {
			turn.Release()
		}
		time.Sleep(time.Second)
		for _, turn := range turns[2:] {
			turn.Release()
		}
		all.Wait()
		heavy.Release()
		grown := take("a light one", wire.TypeJSON, 64<<10, 0, 0)
		if st := grown.Take(of, t.Context(), 4<<20); st != nil || time.Since(began) != 2*time.Second {
			t.Errorf("a light one that has become heavy waits %v: %v", time.Since(began), st)
		}
	})
}

// TestTinyRequestsTakeTurns: there are never more than so many, nor of large answers. What decodes
// nothing needs no turn, and a turn among tiny ones becomes one among larger ones.
func TestTinyRequestsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of, began := intake.NewTurns(4<<20), time.Now()
		var turns [intake.AtATime + 1]intake.Turn
		var all sync.WaitGroup
		for i := range turns {
			all.Go(func() {
				st := turns[i].Take(of, t.Context(), i+1)
				if waits := time.Since(began) > 0; waits != (i == intake.AtATime) || st != nil {
					t.Errorf("tiny request %d waits: %v, %v", i, waits, st)
				}
			})
			synctest.Wait()
		}
		if st := new(intake.Turn).Take(of, t.Context(), 0); st != nil || time.Since(began) > 0 {
			t.Errorf("what decodes nothing waits %v: %v", time.Since(began), st)
		}
		time.Sleep(time.Second)
		if st := turns[0].Take(of, t.Context(), 2<<10); st != nil {
			t.Errorf("one that grows: %v", st)
		}
		all.Wait()
		if since := time.Since(began); since != time.Second {
			t.Errorf("the last one waits %v", since)
		}
		if tiny, light, _ := of.Least(); tiny != 0 || light != (intake.AtATime-1)*intake.Light {
			t.Errorf("%d tiny ones and %d bytes of light ones were left", tiny, light)
		}
		var answer, heavy intake.Turn
		if st := answer.TakeAnswer(of, t.Context()); st != nil {
			t.Errorf("an answer: %v", st)
		}
		if st := heavy.Take(of, t.Context(), 4<<20); st != nil {
			t.Errorf("a request beside an answer: %v", st)
		}
		if st := new(intake.Turn).TakeAnswer(of, t.Context()); st == nil || time.Since(began) != time.Second+intake.Patience {
			t.Errorf("a second answer gets %v after %v", st, time.Since(began))
		}
	})
}

// TestTurnsHaveAnEnd: who waits too long gets 429, and whoever leaves makes room for those
// behind.
func TestTurnsHaveAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := intake.NewTurns(4 << 20)
		began := time.Now()
		var first, late, small intake.Turn
		first.Take(of, t.Context(), 3<<20)
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if st := new(intake.Turn).Take(of, ctx, 4<<20); st == nil || time.Since(began) != time.Second {
				t.Errorf("who leaves gets %v after %v", st, time.Since(began))
			}
		})
		synctest.Wait()
		all.Go(func() {
			if st := small.Take(of, t.Context(), 1<<20); st != nil || time.Since(began) != time.Second {
				t.Errorf("who is behind one that left gets %v after %v", st, time.Since(began))
			}
		})
		time.Sleep(time.Second)
		leave()
		all.Wait()
		st := late.Take(of, t.Context(), 1<<20)
		if st == nil || st.Code != http.StatusTooManyRequests || st.Details.RetryAfterSeconds == 0 || time.Since(began) != time.Second+intake.Patience {
			t.Errorf("who waits too long gets %v after %v", st, time.Since(began))
		}
	})
}

// TestShortBodiesOfMuchJSON: what a body stands for counts, not its bytes.
func TestShortBodiesOfMuchJSON(t *testing.T) {
	const part = "\x12\x00" // an empty container
	pod := "\x12" + string([]byte{0x80 | 20000&0x7f, 0x80 | 20000>>7&0x7f, 20000 >> 14}) + strings.Repeat(part, 10_000)
	raw := string([]byte{0x80 | byte(len(pod)&0x7f), 0x80 | byte(len(pod)>>7&0x7f), byte(len(pod) >> 14)}) + pod
	many := "k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12" + raw
	for _, c := range []struct {
		typ, body string
		light     bool
	}{
		{wire.TypeJSON, strings.Repeat(" ", intake.Light), true},
		{wire.TypeJSON, strings.Repeat(" ", intake.Light+1), false},
		{wire.TypeJSONPatch, `[{"op":"add","path":"/a","value":1}]`, true},
		{wire.TypeJSONPatch, `[{"op":"copy","from":"/a","path":"/b"}]`, false},
		{wire.TypeJSONPatch, `[{"op":"c\u006fpy","from":"/a","path":"/b"}]`, false},
		{wire.TypeApply, "a: &x [1]\nb: *x\n", false},
		{wire.TypeApply, `{"verbs":["*"],"a":"&"}`, true},
		{wire.TypeYAML, "verbs: ['*']\n", true},
		{protojson.MediaType, "k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x00", true},
		{protojson.MediaType, many, false},
	} {
		of := intake.NewTurns(4 << 20)
		var turn intake.Turn
		turn.Weigh(c.typ, []byte(c.body))
		turn.Take(of, t.Context(), 0)
		if _, _, left := of.Least(); (left == 4<<20) != c.light {
			light := !c.light
			t.Errorf("%s %.40q: light is %v", c.typ, c.body, light)
		}
	}
}
