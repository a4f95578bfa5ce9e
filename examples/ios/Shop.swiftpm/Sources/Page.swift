import SwiftUI
import WalleRT

/// Two goods to look at, and what the task suggests.
struct Page: View {
    @State private var suggestion = ""

    var body: some View {
        VStack {
            Text(suggestion)
            ForEach(["cup", "lamp"], id: \.self) { item in
                Button(item) { look(item) }
            }
        }
        .task { await show() }
    }

    private func look(_ item: String) {
        Task {
            do {
                try await Shop.shared.device().record("look", contents: ["item": .text(item)])
            } catch {
                suggestion = "\(error)"
            }
        }
    }

    /// Every row that the task leaves, those of before included, as long as the page is there.
    private func show() async {
        do {
            for try await row in try await Shop.shared.device().results(Shop.task, "suggestions").follow() {
                suggestion = "Look at: \(row["item"]) (\(row["looks"]))"
            }
        } catch {
            if !(error is CancellationError) { suggestion = "\(error)" }
        }
    }
}
