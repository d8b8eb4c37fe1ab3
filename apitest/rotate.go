package apitest

// Rotate gives the server another certificate of the same CA, which new
// connections get, as when the files of a kube-apiserver are replaced.
// Connections that exist stay. Without TLS it does nothing.
func (s *Server) Rotate() {
	if s.ids == nil {
		return
	}
	if err := s.ids.Rotate(); err != nil {
		s.fail("rotate the certificate: %v", err)
	}
}

// RotateClient replaces the client certificate that [Server.ClientCertPEM] returns:
// the one before gets 401 from now on, over connections that exist as well. Without
// TLS it does nothing.
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
// certificate. Connections that exist stay; new ones are shown a certificate of the
// new CA, and client certificates of the old one are turned down. Without TLS it does
// nothing.
func (s *Server) RotateCA() {
	if s.ids == nil {
		return
	}
	if err := s.ids.RotateCA(); err != nil {
		s.fail("rotate the CA: %v", err)
	}
	s.reconnect()
}

// reconnect lets Client show and trust what is valid by now.
func (s *Server) reconnect() {
	fresh := s.newClient()
	s.mu.Lock()
	old := s.client
	s.client = fresh
	s.mu.Unlock()
	old.CloseIdleConnections()
}
