package apitest

// Rotate gives the server another certificate of the same CA for new connections, as
// when the files of a kube-apiserver are replaced. Existing connections stay. Without
// TLS it does nothing.
func (s *Server) Rotate() {
	if s.ids == nil {
		return
	}
	if err := s.ids.Rotate(); err != nil {
		s.fail("rotate the certificate: %v", err)
	}
}

// RotateClient replaces the client certificate that [Server.ClientCertPEM] returns: the
// previous one gets 401, also over existing connections. Without TLS it does nothing.
func (s *Server) RotateClient() {
	if s.ids == nil {
		return
	}
	if err := s.ids.RotateClient(); err != nil {
		s.fail("rotate the client certificate: %v", err)
	}
	s.reconnect()
}

// RotateCA replaces the CA, and with it the certificate of the server and the client
// certificate. Existing connections stay; new ones get a certificate of the new CA, and
// client certificates of the old CA are refused. Without TLS it does nothing.
func (s *Server) RotateCA() {
	if s.ids == nil {
		return
	}
	if err := s.ids.RotateCA(); err != nil {
		s.fail("rotate the CA: %v", err)
	}
	s.reconnect()
}

// reconnect makes Client use the current certificates.
func (s *Server) reconnect() {
	fresh := s.newClient()
	s.mu.Lock()
	old := s.client
	s.client = fresh
	s.mu.Unlock()
	old.CloseIdleConnections()
}
