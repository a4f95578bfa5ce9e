// The library for Android, as an AAR: the same sources, with libwalle, its shim and the VM per processor.
// Unproved here: it needs the Android SDK and NDK, and a libwalle per ABI below -Pwalle.prefix=DIR/ABI.
plugins {
    id("com.android.library")
    kotlin("android")
    `maven-publish`
}

group = "walle.rt"
version = "0.1.0"

val prefix: String = providers.gradleProperty("walle.prefix").get()

android {
    namespace = "walle.rt"
    compileSdk = 36
    ndkVersion = "28.2.13676358" // from 28 on, the NDK links with pages of 16 kB by itself
    defaultConfig {
        minSdk = 24
        consumerProguardFiles("consumer-rules.pro")
        ndk.abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64")
        externalNativeBuild.cmake {
            arguments += listOf("-DANDROID_STL=c++_static", "-DWALLE_PREFIX=$prefix")
        }
    }
    externalNativeBuild.cmake {
        path = file("../jni/CMakeLists.txt")
        version = "3.22.1"
    }
    sourceSets["main"].apply {
        kotlin.srcDir("../src/main/kotlin")
        manifest.srcFile("AndroidManifest.xml")
        jniLibs.srcDir("$prefix/jniLibs") // ABI/libwalle.so and ABI/libwalle_vm_device.so
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_17
        targetCompatibility = JavaVersion.VERSION_17
    }
    // The loader maps libraries out of the package as they lie in it, aligned to their pages.
    packaging.jniLibs.useLegacyPackaging = false
    publishing.singleVariant("release") { withSourcesJar() }
}

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-android:1.10.2")
}

publishing {
    publications.create<MavenPublication>("android") {
        artifactId = "walle-rt-android"
        afterEvaluate { from(components["release"]) }
    }
}
