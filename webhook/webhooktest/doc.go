// Package webhooktest tests webhooks of package webhook without a cluster and without
// TLS.
//
//	srv := apitest.NewInMemory(t)
//	webhooktest.Admit(srv, hooks)              // srv asks the webhooks about each write
//	webhooktest.RoundTrip(t, toV1, toV1alpha1, webhooktest.Options[V1, V1alpha1]{})
//
// [Admit] calls the webhooks within the process, so that it works in virtual time
// (testing/synctest) and takes no port. [RoundTrip] converts random objects there and
// back, and reports the members that are lost.
package webhooktest
