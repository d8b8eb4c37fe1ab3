package browser

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestLogsBesideAnObject: the log of a container as it is written, that of the container
// before, and that of another container.
func TestLogsBesideAnObject(t *testing.T) {
	w := start(t)
	w.api.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web"},"spec":{"containers":[{"name":"app","image":"web:1"},{"name":"proxy","image":"proxy:1"}]},
		"status":{"phase":"Running","containerStatuses":[{"name":"app","ready":true,"restartCount":1,"state":{"running":{}}},{"name":"proxy","ready":true,"restartCount":0,"state":{"running":{}}}]}}`)
	written := make(chan string)
	w.api.On(apitest.Match{Path: "/api/v1/namespaces/shop/pods/web/log"}, func(rw http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		fmt.Fprintf(rw, "\x1b[32m%s began\x1b[0m\n", q.Get("container"))
		if q.Get("previous") == "true" {
			fmt.Fprint(rw, "panic: <b>out of memory</b>")
			return
		}
		for q.Get("follow") == "true" {
			http.NewResponseController(rw).Flush()
			select {
			case line := <-written:
				fmt.Fprint(rw, line)
			case <-r.Context().Done():
				return
			}
		}
	})
	p := w.open("type=pods&object=pods/shop/web", look{})
	p.shows("#object h1", "web")
	p.press("6")
	p.shows("#object pre.log", "app began")
	p.shows("#object .tools", "following")
	written <- "GET /cart 200\nGET /ca"
	p.shows("#object pre.log", "GET /cart 200")
	written <- "rt/1 200\n"
	p.shows("#object pre.log", "GET /cart/1 200")
	w.pod("other", "Running", 1) // the log goes on while the cluster changes
	p.shows(row("other"), "Running")
	p.shows("#object pre.log", "GET /cart/1 200")
	p.shot("logs")
	p.click("#object .tools input")
	p.shows("#object pre.log", "panic: <b>out of memory</b>")
	p.without("#object pre.log", "GET /cart")
	p.shows("#object .tools", "the log ended")
	p.click("#object .tools input")
	p.shows("#object .tools", "following")
	p.js("(s => { s.value = 'proxy'; s.dispatchEvent(new Event('change')); return 1 })(document.querySelector('#object .tools select'))", nil)
	p.shows("#object pre.log", "proxy began")
	p.without("#object pre.log", "app began")
	p.press("1")
	p.shows("#object", "Containers")
	p.sound()
}
