package manifest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// ResourceOf finds what m is.
func ResourceOf(api *discovery.API, m *Object) (kube.Resource, error) {
	for r := range api.All() {
		if r.Kind == m.Head.Kind && r.APIVersion() == m.Head.APIVersion {
			return r.Resource, nil
		}
	}
	wrong := fmt.Sprintf("the server has no kind %q in %q; ", printable.Clip(m.Head.Kind), printable.Clip(m.Head.APIVersion))
	for r := range api.All() {
		if strings.EqualFold(r.Kind, m.Head.Kind) {
			return kube.Resource{}, fmt.Errorf("%sthere is %s in %s", wrong, r.Kind, r.APIVersion())
		}
	}
	return kube.Resource{}, errors.New(wrong + "is its CustomResourceDefinition missing?")
}
