//! One device of a topology.
use super::mesh::Bounds;
use std::fmt;

/// Where a device is and what it is called.
///
/// `Display` writes what `PJRT_DeviceDescription_ToString` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The number among all devices.
    pub id: i32,
    /// The process that owns it.
    pub process_index: i32,
    /// The chip's place in its slice.
    pub coords: Bounds,
    /// The number on the chip.
    pub core_on_chip: i32,
    /// TensorCores it consists of.
    pub num_cores: i32,
    /// The slice, where there is more than one.
    pub slice_index: Option<i32>,
    /// The number among the devices of its process, in the order of ids.
    pub local_hardware_id: i32,
    /// The number in its slice.
    pub id_in_slice: i32,
    /// The number of its process in its slice.
    pub process_in_slice: i32,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id_in_slice, process_in_slice, coords: [x, y, z], core_on_chip, .. } = self;
        f.write_str(&self.wrapped(format!(
            "TpuDevice(id={id_in_slice}, process_index={process_in_slice}, \
             coords=({x},{y},{z}), core_on_chip={core_on_chip})"
        )))
    }
}

impl DeviceInfo {
    /// What `PJRT_DeviceDescription_DebugString` answers.
    pub fn debug_string(&self) -> String {
        let Self { id_in_slice, process_in_slice, coords: [x, y, z], core_on_chip, .. } = self;
        let place = format!("({x},{y},{z},{core_on_chip})");
        self.wrapped(format!("TPU_{id_in_slice}(process={process_in_slice},{place})"))
    }

    /// A device of several slices is shown as one of a single slice, wrapped.
    fn wrapped(&self, device: String) -> String {
        match self.slice_index {
            None => device,
            Some(slice) => format!("MegaScalePjRtDevice(wrapped={device}, slice_id={slice})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_called_by_its_place_in_its_slice() {
        let mut device = DeviceInfo {
            id: 200_003,
            process_index: 1,
            coords: [1, 1, 0],
            core_on_chip: 0,
            num_cores: 1,
            slice_index: Some(1),
            local_hardware_id: 3,
            id_in_slice: 3,
            process_in_slice: 0,
        };
        let plain = "TpuDevice(id=3, process_index=0, coords=(1,1,0), core_on_chip=0)";
        let wrapped = format!("MegaScalePjRtDevice(wrapped={plain}, slice_id=1)");
        assert_eq!(device.to_string(), wrapped);
        let short = "MegaScalePjRtDevice(wrapped=TPU_3(process=0,(1,1,0,0)), slice_id=1)";
        assert_eq!(device.debug_string(), short);
        device.slice_index = None;
        assert_eq!(device.to_string(), plain);
        assert_eq!(device.debug_string(), "TPU_3(process=0,(1,1,0,0))");
    }
}
