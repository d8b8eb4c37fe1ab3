// Command bench measures the live page: "listwatch ui" on a fake apiserver with many
// pods, seen by a real Chromium. It prints a table of what was measured and of the
// targets, and writes it to -out. Everything runs on one machine, so times are of one
// clock, and the processes share its processors: on a busy machine the times mean
// nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/e2e/browser/internal/launch"
)

// options is what is measured.
type options struct {
	pods int
	rate int           // changes a second
	run  time.Duration // how long
	out  string
}

func main() {
	var o options
	flag.IntVar(&o.pods, "pods", 50000, "how many pods the cluster has")
	flag.IntVar(&o.rate, "rate", 1000, "changes of pods a second")
	flag.DurationVar(&o.run, "run", 10*time.Minute, "how long pods change; 3 minutes of 1,000 changes a second are as many as an hour of 50")
	flag.StringVar(&o.out, "out", "", "file for the table, besides stdout")
	flag.Parse()
	debug.SetGCPercent(400) // of the fake apiserver, which is not measured, and has the processors in common with what is
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.bench(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// figure is one line of the table.
type figure struct {
	what   string
	got    float64
	unit   string
	target float64 // an upper limit; 0 = none
}

func (o options) bench(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "listwatch-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := launch.Program(ctx, dir)
	if err != nil {
		return err
	}
	w, err := newWorld(o.pods)
	if err != nil {
		return err
	}
	defer w.close()
	b, err := newBrowser(ctx)
	if err != nil {
		return err
	}
	defer b.close()
	u, err := startUI(ctx, program, w.api.URL)
	if err != nil {
		return err
	}
	defer u.close()

	figures, err := o.measure(ctx, w, u, b)
	if err != nil {
		return err
	}
	return o.report(figures)
}

func (o options) measure(ctx context.Context, w *world, u *uiProcess, b *browser) ([]figure, error) {
	p, err := b.open(ctx, u.url+"/#token="+u.token+"&type=pods")
	if err != nil {
		return nil, err
	}
	first, err := p.rows(ctx, 1)
	if err != nil {
		return nil, fmt.Errorf("the first row: %w", err)
	}
	loaded, err := p.loaded(ctx, o.pods)
	if err != nil {
		return nil, fmt.Errorf("all rows: %w", err)
	}
	if err := p.reload(); err != nil {
		return nil, err
	}
	fifty, err := p.rows(ctx, 50)
	if err != nil {
		return nil, fmt.Errorf("50 rows: %w", err)
	}
	rss, _, err := u.memory()
	if err != nil {
		return nil, err
	}
	figures := []figure{
		{"first row, from the start of the page, " + thousands(o.pods) + " pods not yet read", first, "ms", 1000},
		{"all pods counted", loaded, "ms", 0},
		{"50 rows, from the start of the page, pods read", fifty, "ms", 500},
		{"resident set of the process when all pods are read", rss, "MB", 0},
	}
	churned, err := o.churn(ctx, w, u, p)
	return append(figures, churned...), err
}

// anHour is how many changes an hour of 50 a second has.
const anHour = 180_000

// churn changes pods at o.rate for o.run, those that the page shows 20 times a second.
func (o options) churn(ctx context.Context, w *world, u *uiProcess, p *tab) ([]figure, error) {
	visible, err := p.visible(ctx)
	if err != nil {
		return nil, err
	}
	if len(visible) == 0 {
		return nil, errors.New("the page shows no row")
	}
	changing, stop := context.WithTimeout(ctx, o.run)
	defer stop()
	done := make(chan churn, 1)
	worked, scripts, layouts, styles, err := p.busy()
	if err != nil {
		return nil, err
	}
	bytes, began, processors := u.sent(), time.Now(), processorTimes(u.page.PID)
	go func() { done <- w.change(changing, o.rate, visible) }()
	hour := make(chan float64, 1)
	go func() {
		select {
		case <-time.After(time.Duration(anHour/o.rate) * time.Second):
		case <-changing.Done():
		}
		rss, _, _ := u.memory() // an error is seen below
		hour <- rss
	}()
	heaps, err := p.heaps(changing, o.run/10)
	c := <-done
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	rate, used := float64(u.sent()-bytes)/1000/took, processorTimes(u.page.PID).since(processors, took)
	all, script, layout, style, err := p.busy()
	if err != nil {
		return nil, err
	}
	share := func(before, now float64) float64 { return 100 * (now - before) / took }
	seen, err := p.seen(ctx)
	if err != nil {
		return nil, err
	}
	late, missed := latencies(c.visible, seen)
	fmt.Fprintf(os.Stderr, "heap of the page, every %v: %.2f MB\n", o.run/10, heaps)
	if len(heaps) == 0 {
		return nil, fmt.Errorf("%v is too short", o.run)
	}
	if len(late) == 0 {
		return nil, errors.New("no change of a visible row was seen")
	}
	rss, peak, err := u.memory()
	if err != nil {
		return nil, err
	}
	slices.Sort(late)
	head, tail := heaps[len(heaps)/5:len(heaps)/5+len(heaps)/5+1], heaps[len(heaps)-len(heaps)/5-1:]
	return []figure{
		{"changes a second", float64(c.changes) / o.run.Seconds(), "", 0},
		{"of one processor: listwatch ui", used.ui, "%", 0},
		{"of one processor: the fake apiserver and the bench", used.bench, "%", 0},
		{"of one processor: all others, of them mostly the browser", used.others, "%", 0},
		{"of one processor: the page's main thread", share(worked, all), "%", 0},
		{"of it by scripts, the bench's observer included", share(scripts, script), "%", 0},
		{"of it by style and layout", share(layouts+styles, layout+style), "%", 0},
		{"of one processor: taken by other machines", used.stolen, "%", 0},
		{"from the server's write to the change of a visible row, p50", late[len(late)/2], "ms", 0},
		{"from the server's write to the change of a visible row, p99", late[len(late)*99/100], "ms", 200},
		{"changes of visible rows that the page did not show within 2 s", float64(missed), "", 0},
		{"to the browser", rate, "KB/s", 50},
		{"resident set after " + thousands(min(c.changes, anHour)) + " changes", <-hour, "MB", 150},
		{"resident set after " + thousands(c.changes) + " changes", rss, "MB", 0},
		{"peak resident set", peak, "MB", 250},
		{"heap of the page after " + (o.run / 3).Round(time.Second).String(), slices.Max(head), "MB", 0},
		{"heap of the page at the end", slices.Max(tail), "MB", 1.1 * slices.Max(head)},
	}, nil
}

// latencies returns, in ms, how long after each write the page showed it or a later
// one, and how many it did not show within 2 s.
func latencies(written []write, seen map[string][]sight) (late []float64, missed int) {
	for _, w := range written {
		s := seen[w.key]
		i := slices.IndexFunc(s, func(s sight) bool { return s.N >= w.n && s.At >= w.at-1 })
		if i < 0 || s[i].At-w.at > 2000 {
			missed++
			continue
		}
		late = append(late, max(0, s[i].At-w.at))
	}
	return late, missed
}

func (o options) report(figures []figure) error {
	var s strings.Builder
	fmt.Fprintf(&s, "%d processors, %s, load %s; %s pods, %d changes a second for %v; %s.\n\n| what | measured | at most | |\n|---|---:|---:|---|\n",
		runtime.NumCPU(), runtime.Version(), load(), thousands(o.pods), o.rate, o.run, time.Now().UTC().Format(time.DateOnly))
	for _, f := range figures {
		limit, verdict := "", ""
		if f.target > 0 {
			limit, verdict = amount(f.target, f.unit), "met"
			if f.got > f.target {
				verdict = "**missed**"
			}
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", f.what, amount(f.got, f.unit), limit, verdict)
	}
	_, err := io.WriteString(os.Stdout, s.String())
	if err == nil && o.out != "" {
		err = os.WriteFile(o.out, []byte(s.String()), 0o644)
	}
	return err
}

func amount(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'f', 0, 64)
	if v < 100 && v != float64(int(v)) {
		text = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strings.TrimSpace(text + " " + unit)
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(b))[0]
}
