package compat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

// world writes the ConfigMaps of a namespace by the typed client.
type world struct {
	t    *testing.T
	maps typed.ConfigMapInterface
	n    int
}

// newWorld makes the namespace.
func newWorld(t *testing.T, s *server, ns string) *world {
	t.Helper()
	c := clientset(t, s)
	makeNamespace(t, c, ns)
	return &world{t: t, maps: c.CoreV1().ConfigMaps(ns)}
}

func clientset(t *testing.T, s *server) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(s.config(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func makeNamespace(t *testing.T, c *kubernetes.Clientset, name string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) create(ctx context.Context, name string) {
	w.t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "compat"}}, Data: map[string]string{"key": "value"}}
	if _, err := w.maps.Create(ctx, o, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) update(ctx context.Context, name string) {
	w.t.Helper()
	o, err := w.maps.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.n++
	o.Data = map[string]string{"key": fmt.Sprint(w.n)}
	if _, err := w.maps.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(ctx context.Context, name string) {
	w.t.Helper()
	if err := w.maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) recreate(ctx context.Context, name string) {
	w.t.Helper()
	w.delete(ctx, name)
	w.create(ctx, name)
}

// truth returns the UID and revision of each object, straight from the server.
func (w *world) truth(ctx context.Context) map[string]string {
	w.t.Helper()
	list, err := w.maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	all := make(map[string]string)
	for _, o := range list.Items {
		all[o.Name] = string(o.UID) + " " + o.ResourceVersion
	}
	return all
}

// eventually asks until the answer is yes, or the context ends, or patience does.
func eventually(ctx context.Context, yes func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if yes() {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return yes()
		}
	}
}

// different says where two maps differ, for the first few names.
func different(want, got map[string]string) string {
	text, n := "", 0
	say := func(name string) {
		if n++; n <= 5 {
			text += fmt.Sprintf("%s: want %q, got %q; ", name, want[name], got[name])
		}
	}
	for name := range want {
		if want[name] != got[name] {
			say(name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			say(name)
		}
	}
	if n > 5 {
		text += fmt.Sprintf("and %d more", n-5)
	}
	return text
}
