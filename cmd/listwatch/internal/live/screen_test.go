package live

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// evil is what a terminal would obey, or show in another order, and what is wide.
const evil = "世界\x1b]0;OWNED\a\x1b[35;7m\u009b35m\u202e\u2066\u200f\x7f\u0085\u2028\x08\rFORGED\tאב\n\xffe\u0301"

// shades are the sequences that a board writes.
var shades = regexp.MustCompile(`\x1b\[(0|1|2;9|7|31|32|33|36)m`)

// Whatever keys are pressed and objects come, at any size, a screen has no more lines and
// columns than there are, and no character that a terminal obeys but those of colours.
func TestAnyScreenFitsAndIsClean(t *testing.T) {
	keys := []string{"j", "k", "down", "up", "pgdown", "pgup", "home", "end", "G", "left", "right", "h", "l", "d", "u", "space", "enter", "enter", "esc", "esc",
		"?", "/", "s", "r", "backspace", "ctrl+w", "ctrl+u", "x", ".", evil}
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var clusters []connect.Cluster
		for i := range 1 + rnd.IntN(4) {
			clusters = append(clusters, connect.Cluster{Name: fmt.Sprint(evil, i), Config: &config.Config{Context: evil, Cluster: evil}})
		}
		b := newBoard(&print.Format{Headers: true, Namespaces: true, Clusters: len(clusters) > 1, Color: seed%2 == 0})
		b.pace = 2
		b.places = placesOf(clusters)
		b.fresh = func() []monitor.Freshness {
			return []monitor.Freshness{{Cluster: clusters[0].Name, AsOf: boardStart, Why: evil, Namespaces: []string{evil}}}
		}
		for step := range 300 {
			name := fmt.Sprint("p", rnd.IntN(10), evil)
			switch rnd.IntN(10) {
			case 0, 1:
				r := podRecord(t, []string{"ADDED", "MODIFIED", "DELETED"}[rnd.IntN(3)], "x", evil, step, rnd.IntN(30))
				r.ID.Name, r.ID.Namespace, r.Cluster = name, []string{"shop", evil}[rnd.IntN(2)], clusters[rnd.IntN(len(clusters))].Name
				if r.Type == "MODIFIED" {
					r.Old = podRecord(t, "ADDED", "x", "Pending"+evil, step, 0).Object
				}
				if rnd.IntN(3) == 0 {
					r.Resource = kube.Resource{Version: "v1", Plural: "evils" + evil, Kind: evil, Namespaced: true}
				}
				b.apply(r)
			case 2:
				b.note(evil, boardStart.Add(time.Duration(step)*time.Second))
			case 3:
				if b.detail != nil {
					o, err := codec.ParseRaw([]byte(fmt.Sprintf(`{"kind":"Event","apiVersion":"v1","metadata":{"name":"e"},"type":%[1]q,"reason":%[1]q,"message":%[1]q}`, strings.NewReplacer("\x1b", "", "\a", "", "\x7f", "", "\x08", "", "\xff", "").Replace(evil))))
					if err != nil {
						t.Fatal(err)
					}
					b.detail.hear(news{events: map[kube.Key]happening{{Name: name}: happeningOf(o)}})
				}
			case 4:
				b.work()
			default:
				k := keys[rnd.IntN(len(keys))]
				b.press(k, k)
			}
			width, height := []int{1, 10, 11, 20, 80, 200}[rnd.IntN(6)], []int{1, 3, 4, 5, 24, 60}[rnd.IntN(6)]
			lines := b.draw(width, height, boardStart.Add(time.Duration(step)*time.Second))
			if len(lines) > height {
				t.Fatalf("seed %d, step %d: %d lines of %d", seed, step, len(lines), height)
			}
			for _, l := range lines {
				text := shades.ReplaceAllString(l, "")
				if w := print.DisplayWidth(text); w > width {
					t.Fatalf("seed %d, step %d: %d columns of %d: %q", seed, step, w, width, l)
				}
				if strings.ContainsFunc(text, printable.Unsafe) || strings.Contains(text, "\xff") {
					t.Fatalf("seed %d, step %d: a terminal would obey %q", seed, step, l)
				}
			}
		}
	}
}
