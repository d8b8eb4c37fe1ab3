package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui"
)

// below starts a world whose page is below a path.
func below(t *testing.T, path string) *world {
	t.Helper()
	api := apitest.NewWith(t, apitest.Options{NoValidation: true})
	c, err := client.New(client.Config{Server: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	w := show(t, ui.Options{Client: c, Name: path, BasePath: path})
	w.api, w.path = api, path
	return w
}

// proxy is a server in front of the page, for the path of its name.
func (w *world) proxy() http.Handler {
	to, err := url.Parse(w.web.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	return &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
}

// TestPagesBelowPaths: two pages of one host, one behind a proxy that passes the path on
// and one behind a proxy that removes it. Each has its own session and its own stream.
func TestPagesBelowPaths(t *testing.T) {
	eu, us := below(t, "/live/eu"), below(t, "/live/us")
	eu.pod("in-eu", "Running", 0)
	us.pod("in-us", "Running", 0)
	mux := http.NewServeMux()
	mux.Handle("/live/eu/", eu.proxy())
	mux.Handle("/live/eu", eu.proxy())
	mux.Handle("/live/us/", http.StripPrefix("/live/us", us.proxy()))
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	p := open(t, front.URL+"/live/eu#token="+eu.ui.Token()+"&type=pods", look{})
	p.shows(row("in-eu"), "Running")
	q := p.beside(t, front.URL+"/live/us/#token="+us.ui.Token()+"&type=pods")
	q.shows(row("in-us"), "Running")
	us.pod("in-us", "Failed", 0)
	q.shows(row("in-us"), "Failed")
	q.run(chromedp.Reload())
	q.shows(row("in-us"), "Failed")
	p.front()
	p.run(chromedp.Reload()) // the session of the other page has not taken its place
	p.shows(row("in-eu"), "Running")
	p.click("tr.row")
	p.shows("#object h1", "in-eu")
	p.until("location.pathname === '/live/eu/'")
	p.sound()
	q.sound()
}

// TestWithoutJavaScript: the form lets in, and leads to lists, below a path too.
func TestWithoutJavaScript(t *testing.T) {
	w := below(t, "/live/eu")
	w.pod("web", "Running", 0)
	mux := http.NewServeMux()
	mux.Handle("/live/eu/", http.StripPrefix("/live/eu", w.proxy()))
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	p := open(t, "about:blank", look{})
	p.run(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(front.URL+"/live/eu/"))
	p.run(chromedp.SendKeys("noscript input", w.ui.Token(), chromedp.ByQuery), chromedp.Click("noscript button", chromedp.ByQuery))
	p.run(chromedp.WaitVisible(`a[href="list?type=pods"]`, chromedp.ByQuery), chromedp.Click(`a[href="list?type=pods"]`, chromedp.ByQuery))
	var text string
	p.run(chromedp.WaitVisible("form", chromedp.ByQuery), chromedp.Text("body", &text, chromedp.ByQuery))
	if want := "web"; !strings.Contains(text, want) {
		t.Errorf("the list has no %s:\n%s", want, text)
	}
}

// TestClustersAreSwitched: in one tab, with the type that is shown, and back to a page whose
// session is still there.
func TestClustersAreSwitched(t *testing.T) {
	eu, us := below(t, "/live/eu"), below(t, "/live/us")
	if err := ui.Link(eu.ui, us.ui); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*world{eu, us} {
		w.pod("in-"+path.Base(w.path), "Running", 0)
		w.api.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"config-%s"}}`, path.Base(w.path)))
	}
	mux := http.NewServeMux()
	mux.Handle("/live/eu/", eu.proxy())
	mux.Handle("/live/us/", us.proxy())
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	p := open(t, front.URL+"/live/eu/#token="+eu.ui.Token()+"&type=configmaps&ns=shop", look{})
	p.shows(row("config-eu"), "config-eu")
	p.click("#cluster")
	p.enter("live/us")
	p.press("Enter")
	p.run(chromedp.WaitVisible(row("config-us"), chromedp.ByQuery)) // of another document
	p.until("location.pathname === '/live/us/' && !location.hash.includes('token')")
	p.run(chromedp.Navigate(front.URL + "/live/eu/#type=pods")) // without a token
	p.shows(row("in-eu"), "Running")
	p.press("c")
	p.shows("#dialog", "Cluster")
	p.press("Escape")
	p.sound()
}
