// _core.mqtt: packets of MQTT 3.1.1 for the sink, written and read as a device's are.
// walle_rt.cloud.sink is the documented API.
#include "link/tunnel/mqtt_packet.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <utility>

#include "pybind/errors.h"

namespace walle::pybind {

namespace py = pybind11;

using link::MqttPacket;
using link::MqttType;

namespace {

py::bytes bytes_of(std::string_view view) { return {view.data(), view.size()}; }

py::bytes write_connect(const std::string& client, uint16_t keepalive_s) {
  return py::bytes(link::mqtt_connect({.client = client, .keepalive_s = keepalive_s}));
}

// Of QoS 1 with a number.
py::bytes write_publish(const std::string& topic, const py::bytes& payload, uint16_t number, bool retain) {
  const uint8_t qos = number ? 1 : 0;
  return py::bytes(link::mqtt_publish(
      {.topic = topic, .payload = std::string_view(payload), .qos = qos, .retain = retain, .id = number}));
}

py::bytes write_subscribe(uint16_t number, const std::vector<std::pair<std::string, uint8_t>>& filters) {
  std::vector<link::MqttSubscription> subscriptions;
  for (const auto& [filter, qos] : filters) subscriptions.push_back({.filter = filter, .qos = qos});
  return py::bytes(link::mqtt_subscribe(number, subscriptions));
}

// (type, number, topic, payload, codes); what a packet does not have is 0 or empty.
py::tuple packet_of(const MqttPacket& packet) {
  const auto made = [&](uint16_t number, std::string_view topic, std::string_view payload,
                        std::string_view codes) {
    return py::make_tuple(static_cast<int>(packet.type), number, topic, bytes_of(payload), bytes_of(codes));
  };
  switch (packet.type) {
    case MqttType::connack: {
      const char code = static_cast<char>(unwrap(link::read_connack(packet)).code);
      return made(0, {}, {}, {&code, 1});
    }
    case MqttType::publish: {
      const link::MqttPublish p = unwrap(link::read_publish(packet));
      return made(p.id, p.topic, p.payload, {});
    }
    case MqttType::puback: return made(unwrap(link::read_puback(packet)), {}, {}, {});
    case MqttType::suback: {
      const link::MqttSuback s = unwrap(link::read_suback(packet));
      return made(s.id, {}, {}, s.codes);
    }
    case MqttType::connect:
    case MqttType::subscribe:
    case MqttType::pingreq:
    case MqttType::pingresp:
    case MqttType::disconnect: break;
  }
  unwrap(link::read_empty(packet));
  return made(0, {}, {}, {});
}

// The packets that are whole, and how many bytes they are.
py::tuple read_packets(const py::bytearray& data, size_t most) {
  std::string_view left(PyByteArray_AS_STRING(data.ptr()), data.size());
  const size_t all = left.size();
  py::list packets;
  for (;;) {
    size_t used = 0;
    const std::optional<MqttPacket> packet = unwrap(link::mqtt_split(left, most, used));
    if (!packet) return py::make_tuple(packets, all - left.size());
    packets.append(packet_of(*packet));
    left.remove_prefix(used);
  }
}

}  // namespace

void bind_mqtt(py::module_& m) {
  py::module_ mqtt = m.def_submodule("mqtt", "Packets of MQTT 3.1.1.");
  using Named = std::pair<const char*, MqttType>;
  for (const auto& [name, type] : {Named("CONNACK", MqttType::connack), Named("PUBLISH", MqttType::publish),
                                   Named("PUBACK", MqttType::puback), Named("SUBACK", MqttType::suback),
                                   Named("PINGRESP", MqttType::pingresp)})
    mqtt.attr(name) = static_cast<int>(type);
  mqtt.def("connect", write_connect, py::arg("client"), py::arg("keepalive_s"));
  mqtt.def("publish", write_publish, py::arg("topic"), py::arg("payload"), py::arg("number") = 0,
           py::arg("retain") = false);
  mqtt.def("puback", [](uint16_t number) { return py::bytes(link::mqtt_puback(number)); }, py::arg("number"));
  mqtt.def("subscribe", write_subscribe, py::arg("number"), py::arg("filters"));
  mqtt.def("pingreq", [] { return py::bytes(link::mqtt_pingreq()); });
  mqtt.def("disconnect", [] { return py::bytes(link::mqtt_disconnect()); });
  mqtt.def("read", read_packets, py::arg("data"), py::arg("most"));
}

}  // namespace walle::pybind
