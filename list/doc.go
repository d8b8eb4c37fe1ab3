// Package list reads collections page by page and object by object.
//
// A [Lister] sends LIST requests of a limited size and yields each object as soon as
// its bytes have arrived, so that a list of any length needs the memory of one object.
// All pages show one snapshot of the collection, unless it expires between them: see
// [Progress.Inconsistent]. At the end [Lister.Revision] returns its revision (resourceVersion):
// a watch from there misses nothing.
//
//	pods := list.New(client.Of[kube.Partial](c, kube.Pods), list.Options{})
//	for pod, err := range pods.All(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(pod.Name)
//	}
//
// A [Cursor] is the protocol without I/O: it computes the next query from a response. Package
// watch uses a Cursor too. See
// https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks.
package list
