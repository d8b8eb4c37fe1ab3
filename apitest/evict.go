package apitest

import (
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/eviction"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// evict handles the request to delete a pod if its budget permits that. See
// https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/.
func (s *Server) evict(x *Exchange, w http.ResponseWriter) *kube.Status {
	var e struct {
		Metadata      struct{ Name string }
		DeleteOptions *deleteOptions
	}
	opts, st := readAction(x, "Eviction", "policy/v1", &e)
	if st != nil {
		return st
	}
	key := x.target.key
	if e.Metadata.Name != key.Name {
		return wire.BadRequest("name in URL does not match name in Eviction object")
	}
	var how deleteOptions
	if e.DeleteOptions != nil {
		how = *e.DeleteOptions
	}
	if causes := checkDryRun(how.DryRun); len(causes) > 0 {
		return wire.Invalid("meta.k8s.io", "DeleteOptions", "", causes...)
	}
	d := store.Deletion{Dry: opts.dry || len(how.DryRun) > 0}
	if how.PropagationPolicy != nil {
		d.Policy = *how.PropagationPolicy
	}
	s.store.Lock()
	defer s.store.Unlock()
	pods := s.store.Table(kube.Pods)
	pod := pods.Get(key)
	if pod == nil {
		return wire.NotFound(kube.Pods, key.Name)
	}
	if st := how.holds(kube.Pods, pod); st != nil {
		return st
	}
	if st := eviction.Take(s.store, pod, d.Dry); st != nil {
		return st
	}
	s.store.Remove(pods, pod, d)
	s.store.SettleRemoved()
	wire.WriteStatus(w, &kube.Status{Code: http.StatusCreated})
	return nil
}
