package walle.rt

import java.io.File
import java.net.InetSocketAddress
import java.net.Socket
import java.security.KeyStore
import java.security.cert.Certificate
import java.security.cert.CertificateFactory
import javax.net.ssl.KeyManagerFactory
import javax.net.ssl.SSLContext
import javax.net.ssl.SSLSocket
import javax.net.ssl.TrustManagerFactory

/** Contexts of the platform's TLS (Conscrypt on Android) from PEM files. */
internal object Tls {
    private val noPassword = CharArray(0) // the store lives in memory alone

    /** Believes [authorities] and nobody else; shows [certificate] where there is one. */
    fun context(authorities: File, certificate: File? = null, key: File? = null): SSLContext {
        val believed = store {
            certificates(authorities).forEachIndexed { at, one -> setCertificateEntry("$at", one) }
        }
        val trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm())
        trust.init(believed)
        val shown = if (certificate == null || key == null) null else keys(certificate, key).keyManagers
        return SSLContext.getInstance("TLS").apply { init(shown, trust.trustManagers, null) }
    }

    private fun keys(certificate: File, key: File): KeyManagerFactory {
        val own = store {
            val chain = certificates(certificate).toTypedArray()
            setKeyEntry("device", Pem.privateKey(key.readText()), noPassword, chain)
        }
        val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm())
        return keys.apply { init(own, noPassword) }
    }

    private fun store(fill: KeyStore.() -> Unit): KeyStore =
        KeyStore.getInstance("PKCS12").apply { load(null, noPassword) }.apply(fill)

    private fun certificates(file: File): List<Certificate> =
        file.inputStream().use { CertificateFactory.getInstance("X.509").generateCertificates(it).toList() }
}

/** TLS of the platform: 1.3 where it has that, which is Android from API 29 on, otherwise 1.2. */
class TlsTransport : StreamTransport {
    @Volatile private var opening: Socket? = null

    override fun connect(peer: StreamPeer): StreamConnection {
        val context = Tls.context(File(peer.authorities), File(peer.certificate), File(peer.key))
        // TLS over a socket of its own: closing that ends whatever waits, which closing an SSLSocket may not.
        val plain = Socket()
        opening = plain
        try {
            plain.connect(InetSocketAddress(peer.host, peer.port), peer.timeoutMs)
            plain.soTimeout = peer.timeoutMs
            val socket = context.socketFactory.createSocket(plain, peer.host, peer.port, true) as SSLSocket
            socket.enabledProtocols = listOf("TLSv1.3", "TLSv1.2").first { it in socket.supportedProtocols }
                .let { arrayOf(it) }
            socket.sslParameters = socket.sslParameters.apply { endpointIdentificationAlgorithm = "HTTPS" }
            socket.startHandshake()
            plain.soTimeout = 0
            return TlsConnection(plain, socket)
        } catch (failed: java.io.IOException) {
            plain.close()
            throw failed
        } finally {
            opening = null
        }
    }

    override fun cancel() {
        opening?.close()
    }
}

private class TlsConnection(private val plain: Socket, private val socket: SSLSocket) : StreamConnection {
    private val input = socket.inputStream
    private val output = socket.outputStream

    override fun read(to: ByteArray): Int = maxOf(input.read(to), 0)

    override fun write(bytes: ByteArray): Int {
        output.write(bytes)
        output.flush()
        return bytes.size
    }

    override fun cancel() = plain.close()

    override fun close() = plain.close()
}
