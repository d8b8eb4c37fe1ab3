package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// ingress knows the hosts of its rules, and not what they lead to.
type ingress struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Rules []struct {
			Host string `json:"host"`
		} `json:"rules"`
	} `json:"spec"`
}

// TestAmbiguousErrorSaysWhatHelps: that is not to change one element at a time, nor to
// apply a T, which leaves out what it does not know.
func TestAmbiguousErrorSaysWhatHelps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, c := fake(t, apitest.Fixture{Resource: kube.Ingresses, Object: `{"metadata":{"namespace":"a","name":"web"},"spec":{"rules":[
			{"host":"a","http":{"paths":[{"path":"/a","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}}]}}`})
		_, err := client.Of[ingress](c, kube.Ingresses).Edit(t.Context(), web, func(o *ingress) error {
			o.Spec.Rules[0].Host = "c" // one element
			return nil
		})
		const want = "spec.rules: it is not certain which elements were changed, removed or added, and some have members that the Go type does not know (http): add these fields to the type, or use Patch"
		var ambiguous *client.AmbiguousError
		if !errors.As(err, &ambiguous) || ambiguous.Error() != want {
			t.Errorf("error %v", ambiguous)
		}
	})
}

// TestAmbiguousChangesAreNotWritten: the first rule is removed and the second gets
// another name, so that it is not certain whose paths the one that is left has.
func TestAmbiguousChangesAreNotWritten(t *testing.T) {
	change := func(o *ingress) error {
		o.Spec.Rules = o.Spec.Rules[1:]
		o.Spec.Rules[0].Host = "c"
		return nil
	}
	for name, write := range map[string]func(context.Context, client.Collection[ingress]) error{
		"Edit": func(ctx context.Context, c client.Collection[ingress]) error {
			_, err := c.Edit(ctx, web, change)
			return err
		},
		"CreateOrUpdate": func(ctx context.Context, c client.Collection[ingress]) error {
			_, _, err := c.CreateOrUpdate(ctx, web, change)
			return err
		},
		"CreateOrPatch": func(ctx context.Context, c client.Collection[ingress]) error {
			_, _, err := c.CreateOrPatch(ctx, web, change)
			return err
		},
		"Update": func(ctx context.Context, c client.Collection[ingress]) error {
			o, err := c.Get(ctx, web)
			if err != nil {
				return err
			}
			if err := change(&o); err != nil {
				return err
			}
			_, err = c.Update(ctx, o)
			return err
		},
		"UpdateStatus": func(ctx context.Context, c client.Collection[ingress]) error {
			o, err := c.Get(ctx, web)
			if err != nil {
				return err
			}
			if err := change(&o); err != nil {
				return err
			}
			_, err = c.UpdateStatus(ctx, o)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				srv, c := fake(t, apitest.Fixture{Resource: kube.Ingresses, Object: `{"metadata":{"namespace":"a","name":"web"},"spec":{"rules":[
					{"host":"a","http":{"paths":[{"path":"/a","pathType":"Prefix","backend":{"service":{"name":"a","port":{"number":80}}}}]}},
					{"host":"b","http":{"paths":[{"path":"/b","pathType":"Prefix","backend":{"service":{"name":"b","port":{"number":80}}}}]}}]}}`})
				before := srv.Get(kube.Ingresses, web)
				err := write(t.Context(), client.Of[ingress](c, kube.Ingresses))
				var ambiguous *client.AmbiguousError
				if !errors.As(err, &ambiguous) {
					t.Fatalf("error %v", err)
				}
				if diff := cmp.Diff(&client.AmbiguousError{Path: "spec.rules", Unknown: []string{"http"}}, ambiguous); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(string(before), string(srv.Get(kube.Ingresses, web))); diff != "" {
					t.Errorf("it was written (-before +after):\n%s", diff)
				}
			})
		})
	}
}
