package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// A function that puts another object in place of the one it gets leaves out the
// resourceVersion: what somebody else wrote meanwhile would be overwritten unseen.
func TestAnObjectThatIsReplacedKeepsItsIdentity(t *testing.T) {
	named := configMap{Meta: kube.Meta{Namespace: "a", Name: "web"}, Data: map[string]string{"mine": "2"}}
	unnamed := configMap{Data: map[string]string{"mine": "2"}}
	type write func(ctx context.Context, c client.Collection[configMap], f func(*configMap) error) (configMap, error)
	edit := func(ctx context.Context, c client.Collection[configMap], f func(*configMap) error) (configMap, error) {
		return c.Edit(ctx, web, f)
	}
	update := func(ctx context.Context, c client.Collection[configMap], f func(*configMap) error) (configMap, error) {
		o, _, err := c.CreateOrUpdate(ctx, web, f)
		return o, err
	}
	patch := func(ctx context.Context, c client.Collection[configMap], f func(*configMap) error) (configMap, error) {
		o, _, err := c.CreateOrPatch(ctx, web, f)
		return o, err
	}
	for name, tt := range map[string]struct {
		write write
		by    configMap
		runs  int
	}{
		"Edit":                           {edit, named, 2},
		"Edit, without a name":           {edit, unnamed, 2},
		"CreateOrUpdate":                 {update, named, 2},
		"CreateOrUpdate, without a name": {update, unnamed, 2},
		"CreateOrPatch, which needs no second run": {patch, unnamed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"},"data":{"mine":"1"}}`})
				runs := 0
				got, err := tt.write(t.Context(), client.Of[configMap](c, kube.ConfigMaps), func(o *configMap) error {
					if runs++; runs == 1 {
						srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":{"mine":"1"},"binaryData":{"theirs":"AAAA"}}`)
					}
					*o = tt.by
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				want := configMap{Meta: got.Meta, Data: tt.by.Data}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the answer, -want +got:\n%s", diff)
				}
				if theirs := text(t, srv, kube.ConfigMaps, web, "binaryData", "theirs"); theirs != "AAAA" {
					t.Errorf("what somebody else wrote meanwhile is %q", theirs)
				}
				if runs != tt.runs {
					t.Errorf("the function ran %d times, want %d", runs, tt.runs)
				}
			})
		})
	}
}

// What is the same but for its identity is the same: nothing is written, and what is
// returned has the resourceVersion, which Await needs.
func TestAnObjectThatIsReplacedByTheSameIsUnchanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"},"data":{"mine":"1"}}`})
		maps := client.Of[configMap](c, kube.ConfigMaps)
		want, err := maps.Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		got, outcome, err := maps.CreateOrUpdate(t.Context(), web, func(o *configMap) error {
			*o = configMap{Data: map[string]string{"mine": "1"}}
			return nil
		})
		if err != nil || outcome != client.Unchanged {
			t.Fatalf("%s, %v", outcome, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// The same for whole objects; one that is another, or older, is refused.
func TestRawObjectThatIsReplaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"},"data":{"mine":"1"}}`})
		maps := client.Of[codec.Raw](c, kube.ConfigMaps)
		by := func(json string) func(*codec.Raw) error {
			return func(o *codec.Raw) (err error) {
				*o, err = codec.Decode[codec.Raw]([]byte(json))
				return err
			}
		}
		runs := 0
		_, err := maps.Edit(t.Context(), web, func(o *codec.Raw) error {
			if runs++; runs == 1 {
				srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":{"mine":"3"}}`)
			}
			return by(`{"metadata":{"name":"web"},"data":{"mine":"2"}}`)(o)
		})
		if err != nil || runs != 2 {
			t.Errorf("%d runs, %v; want 2", runs, err)
		}
		_, err = maps.Edit(t.Context(), web, by(`{"metadata":{"name":"db"},"data":{"mine":"2"}}`))
		if !errors.Is(err, kube.ErrInvalid) {
			t.Errorf("another name: %v", err)
		}
		_, err = maps.Edit(t.Context(), web, by(`{"metadata":{"name":"web","resourceVersion":"1"},"data":{"mine":"2"}}`))
		if !errors.Is(err, kube.ErrConflict) {
			t.Errorf("an object that was read before: %v", err)
		}
	})
}

// TestErrorOfTheFunctionEndsTheChange: a conflict of a write of its own is not one of the object,
// and running it again may repeat what it did.
func TestErrorOfTheFunctionEndsTheChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"}}`})
		maps := client.Of[configMap](c, kube.ConfigMaps)
		own := fmt.Errorf("a write of another object: %w", kube.ErrConflict)
		for name, change := range map[string]func(func(*configMap) error) error{
			"Edit": func(f func(*configMap) error) error { _, err := maps.Edit(t.Context(), web, f); return err },
			"CreateOrUpdate": func(f func(*configMap) error) error {
				_, _, err := maps.CreateOrUpdate(t.Context(), web, f)
				return err
			},
			"CreateOrPatch": func(f func(*configMap) error) error { _, _, err := maps.CreateOrPatch(t.Context(), web, f); return err },
		} {
			runs := 0
			err := change(func(*configMap) error {
				runs++
				return own
			})
			if !errors.Is(err, own) || runs != 1 {
				t.Errorf("%s: the function ran %d times, %v", name, runs, err)
			}
		}
	})
}
