// The library for a JVM, as a Maven artefact: classes alone, because libwalle and its shim are of one
// platform (README.md says where they lie). Unproved here; tools/kotlin.py compiles the same sources.
plugins {
    kotlin("jvm") version "2.3.0"
    `java-library`
    `maven-publish`
    id("com.android.library") version "8.13.0" apply false
    kotlin("android") version "2.3.0" apply false
}

group = "walle.rt"
version = "0.1.0"

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.10.2")
}

kotlin {
    jvmToolchain(17)
    explicitApiWarning()
}

java {
    withSourcesJar()
}

publishing {
    publications.create<MavenPublication>("jvm") {
        artifactId = "walle-rt-jvm"
        from(components["java"])
    }
}
