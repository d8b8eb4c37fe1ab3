package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/listwatch/listwatch/e2e/browser/internal/launch"
)

// observer notes, in the page, when rows appear, and each number of restarts that a row
// shows, in the clock that the server uses too. It asks for no layout: that would be work that
// the page does not do by itself.
const observer = `
window.bench = { rows: [], keys: new Map(), last: [], seen: new Float64Array(3e6), n: 0 };
new MutationObserver(() => {
  const rows = document.querySelectorAll("#rows tr.row");
  if (rows.length > (bench.rows.at(-1)?.[0] ?? 0)) bench.rows.push([rows.length, performance.now()]);
  const now = performance.timeOrigin + performance.now();
  const heads = [...document.querySelectorAll("#rows thead th")];
  const column = heads.findIndex(h => h.textContent.trim().toLowerCase().startsWith("restarts"));
  if (column < 0) return;
  for (const r of rows) {
    const n = parseInt(r.children[column]?.textContent), key = r.dataset.key;
    if (!bench.keys.has(key)) bench.keys.set(key, bench.keys.size);
    const k = bench.keys.get(key);
    if (n && bench.last[k] !== n) { bench.last[k] = n; bench.seen.set([k, n, now], bench.n); bench.n += 3; }
  }
}).observe(document, { subtree: true, childList: true, characterData: true });`

// browser is a headless Chromium.
type browser struct {
	ctx   context.Context
	close func()
}

func newBrowser(ctx context.Context) (*browser, error) {
	b, end, err := launch.Chromium(ctx)
	return &browser{b, end}, err
}

// sightings are what the observer noted, by row.
const sightings = `(() => {
  const keys = [...bench.keys.keys()], all = Object.fromEntries(keys.map(k => [k, []]));
  for (let i = 0; i < bench.n; i += 3) all[keys[bench.seen[i]]].push({ n: bench.seen[i + 1], at: bench.seen[i + 2] });
  return all;
})()`

// tab is a page with the observer.
type tab struct{ ctx context.Context }

// open opens a URL in a tab that is high enough for 50 rows.
func (b *browser) open(ctx context.Context, url string) (*tab, error) {
	t, _ := chromedp.NewContext(b.ctx)
	return &tab{t}, chromedp.Run(t, page.BringToFront(), chromedp.EmulateViewport(1440, 2400),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(observer).Do(ctx)
			return err
		}), chromedp.Navigate(url))
}

func (t *tab) reload() error { return chromedp.Run(t.ctx, chromedp.Reload()) }

// patience is how long a page may take to show something.
const patience = 2 * time.Minute

// until waits for an expression to be true, and decodes it.
func (t *tab) until(ctx context.Context, expression string, v any) error {
	limit, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := chromedp.Run(limit, chromedp.Poll(expression, v, chromedp.WithPollingTimeout(0), chromedp.WithPollingInterval(20*time.Millisecond)))
	if errors.Is(err, context.DeadlineExceeded) {
		var shown string
		_ = chromedp.Run(t.ctx, chromedp.Evaluate("document.body.innerText + JSON.stringify(window.bench)", &shown)) // what it shows is only for the error
		err = fmt.Errorf("not within %v; the page shows:\n%s", patience, shown)
	}
	return err
}

// rows returns after how many ms the page had n rows.
func (t *tab) rows(ctx context.Context, n int) (ms float64, err error) {
	return ms, t.until(ctx, fmt.Sprintf("bench.rows.find(([n]) => n >= %d)?.[1]", n), &ms)
}

// loaded returns after how many ms the page counted n objects.
func (t *tab) loaded(ctx context.Context, n int) (ms float64, err error) {
	return ms, t.until(ctx, fmt.Sprintf(`document.getElementById("count").innerText.replace(/\D/g, "") === "%d" && performance.now()`, n), &ms)
}

// visible returns the keys of the rows that are on the screen.
func (t *tab) visible(ctx context.Context) (keys []string, err error) {
	return keys, t.until(ctx, `[...document.querySelectorAll("#rows tr.row")].filter(r => { const b = r.getBoundingClientRect(); return b.top >= 0 && b.bottom < innerHeight; }).map(r => r.dataset.key)`, &keys)
}

// sight is a number of restarts that a row showed for the first time.
type sight struct {
	N  int     `json:"n"`
	At float64 `json:"at"` // ms since 1970
}

func (t *tab) seen(ctx context.Context) (seen map[string][]sight, err error) {
	return seen, t.until(ctx, sightings, &seen)
}

// busy returns how many seconds the main thread of the page has worked, in all and by scripts,
// layout and style.
func (t *tab) busy() (all, script, layout, style float64, err error) {
	err = chromedp.Run(t.ctx, performance.Enable(), chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			switch m.Name {
			case "TaskDuration":
				all = m.Value
			case "ScriptDuration":
				script = m.Value
			case "LayoutDuration":
				layout = m.Value
			case "RecalcStyleDuration":
				style = m.Value
			}
		}
		return err
	}))
	return all, script, layout, style, err
}

// heaps returns the size of the page's heap, in MB after a collection, which stops the page, every
// interval until ctx ends.
func (t *tab) heaps(ctx context.Context, interval time.Duration) (sizes []float64, err error) {
	for {
		select {
		case <-ctx.Done():
			return sizes, nil
		case <-time.After(interval):
		}
		err := chromedp.Run(t.ctx, heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) error {
			used, _, _, _, err := runtime.GetHeapUsage().Do(ctx)
			sizes = append(sizes, used/1e6)
			return err
		}))
		if err != nil {
			return nil, err
		}
	}
}
