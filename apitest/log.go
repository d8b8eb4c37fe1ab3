package apitest

import (
	"context"
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/kubelet"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// podSubresources are those that need a kubelet.
var podSubresources = [...]string{"attach", "exec", "log", "portforward", "proxy"}

// podSubresource responds in place of a kubelet: with the log of a container, and with an
// error for all others.
func (s *Server) podSubresource(x *Exchange, w http.ResponseWriter) *kube.Status {
	if x.target.sub != "log" || x.target.verb != "get" {
		return wire.MethodNotAllowed()
	}
	key := x.target.key
	o, st := kubelet.ParseOptions(x.r.URL.Query(), key.Name)
	if st != nil {
		return st
	}
	pod := s.Get(kube.Pods, key)
	if pod == nil {
		return wire.NotFound(kube.Pods, key.Name)
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	w.Header().Set("Content-Type", "text/plain")
	flush := func() { _ = http.NewResponseController(w).Flush() } // fails if the client is gone
	return s.logs.Send(ctx, w, flush, key, pod, o)
}

// WriteLog adds the lines of text to the log of a container of a Pod. Clients that follow the log
// get the lines at once, until [Server.EndLog]. The log of a container that has written nothing is
// one line, which says so.
func (s *Server) WriteLog(pod kube.Key, container, text string) { s.logs.Write(pod, container, text) }

// EndLog ends the log of a container for the clients that follow it, as when it exits.
func (s *Server) EndLog(pod kube.Key, container string) { s.logs.End(pod, container) }
